-- stoke.prompts: prompts for scenarios that don't care what is asked.
-- prompts.list         a few dozen questions of many kinds and lengths
-- prompts.load(path)   those of a file, as stoke.data.open reads it: a line
--                      each, JSON or CSV with a `prompt`, first questions of
--                      conversations

local prompts = {}

prompts.list = {
  "What is the capital of Australia?",
  "Name three rivers in Europe.",
  "Translate to French: Where is the nearest train station?",
  "Explain in one sentence what a hash table is.",
  "Write a haiku about rain.",
  "Give me a recipe for pancakes for two people.",
  "What is the difference between TCP and UDP?",
  "Summarise the story of Robinson Crusoe in five sentences.",
  "How many legs do seven spiders and three beetles have together? Show your steps.",
  "Write a limerick about a cat that learns to play the violin.",
  "List the planets of the solar system by size, largest first.",
  "What should I look at when I buy a used bicycle?",
  "Correct the grammar: She don't has no idea where they was going yesterday.",
  "Write a SQL query that finds the ten customers with the highest total of orders in 2023.",
  "Explain photosynthesis to a child of eight.",
  "Suggest five names for a small bakery by the sea.",
  "What are the advantages and disadvantages of remote work?",
  "Write a Python function that returns the n-th Fibonacci number without recursion.",
  "Describe the taste of an apple to someone who has never eaten one.",
  "Plan a weekend in Oslo for a family with two small children.",
  "What happened in the year 1969 that people still talk about?",
  "Rewrite politely: Send me the report now, I have waited long enough.",
  "Why is the sky blue, and why is it red in the evening?",
  "Give an example of a syllogism and say whether it is valid.",
  "What does this regular expression match: ^[A-Z][a-z]+(-[A-Z][a-z]+)?$",
  "Write a short dialogue between a lighthouse keeper and a lost sailor.",
  "How does a refrigerator work?",
  "Compare the novel and the short story as forms, with an example of each.",
  "A train leaves at 9:40 and arrives at 13:05. How long does the journey take?",
  "What are good habits for someone who starts to learn the piano at forty?",
  "Explain the difference between a virus and a bacterium.",
  "Write a product description of fifty words for a waterproof backpack.",
  "Which is heavier, a litre of water or a litre of oil, and why?",
  "Turn this into a bulleted list: we need milk, then bread, some apples and a bag of rice.",
  "Tell the history of the printing press in three paragraphs.",
  "What is a monad? Use an analogy, then a small example in Haskell.",
  "Invent a board game for four players that takes half an hour, and write down its rules.",
  "How do I ask for a day off in an e-mail to my manager? Write the e-mail.",
  "What are the main causes of inflation?",
  "Write the opening paragraph of a detective story that is set in Lisbon in winter.",
  "Explain what a mutex is for, and what goes wrong without one. Then show a minimal example in "
    .. "C with two threads that increment a counter.",
  "I have 20 euros. I buy two notebooks at 3.50 each, a pen at 1.20, and a coffee at 2.80. How "
    .. "much is left? Can I still buy a third notebook and a second coffee?",
  "Here is a review: \"The room was clean and the staff were kind, but the lift did not work and "
    .. "breakfast ended at nine.\" Say whether it is positive, negative or mixed, and list the "
    .. "points that it makes.",
  "You are helping a town of 12,000 people to reduce its water use by a tenth within two years. "
    .. "Propose a plan with costs, who has to agree to it, and how progress should be measured.",
  "Write a letter from a gardener in the year 1850 to his sister in the city. He tells her about "
    .. "the orchard, the weather, a quarrel with the miller over the stream, and what he thinks of "
    .. "the railway that is going to be built through the valley.",
  "Explain how a message travels from my phone to a friend's phone on another continent. Begin at "
    .. "the touch of my finger, name each device and protocol on the way in the order in which "
    .. "they take part, and say roughly how long each step takes.",
}

function prompts.load(path)
  local opened, file = pcall(stoke.data.open, path)
  if not opened then error(file, 0) end
  local list = {}
  for i = 1, #file do
    local prompt = file:row(i).prompt
    if type(prompt) ~= "string" then
      error(("%s:%d: no text in \"prompt\""):format(file.path, file:line(i)), 0)
    end
    list[i] = prompt
  end
  return list
end

return prompts
