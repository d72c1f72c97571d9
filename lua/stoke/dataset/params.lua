-- stoke.dataset.params: what `stoke run bench -P …` takes: the flags of
-- `vllm bench serve` that say what is sent, underscored, with its defaults.

local function text(help, default) return { type = "string", help = help, default = default } end
local function whole(help, default, min)
  return { type = "integer", help = help, default = default, min = min or 0 }
end
local function flag(help) return { type = "boolean", help = help, default = false } end
local function file(help) return { type = "place", help = help } end

local params = {
  dataset_name = { default = "random", help = "what prompts are made of", choices = {
    "random", "sharegpt", "custom",
  } },
  dataset_path = file("the file of a data set that is one"),
  num_prompts = whole("how many requests; below 1: all that the file has", 1000, -1),
  self_timed = { type = "boolean",
    help = "false: flags say when requests leave, not the data set" },
  no_oversample = flag("with fewer rows than num_prompts send fewer, instead of some again"),
  disable_shuffle = flag("in the file's order"),
  skip_chat_template = flag("of custom data for completions: send the bare text"),

  tokenizer = file("tokenizer.json, its folder, or a model that the hub's cache has; "
    .. "without: the model's own there, else the server's /tokenize, else words"),
  tokenizer_mode = text("auto or hf; others are taken as these", "auto"),
  skip_tokenizer_init = flag("ask no tokenizer but the server's"),

  input_len = whole("the same as random_input_len", nil, 1),
  output_len = whole("tokens an answer, of all data sets but sonnet and speed_bench", nil, 0),
  random_input_len = whole("tokens a prompt, without random_prefix_len", 1024, 1),
  random_output_len = whole("tokens an answer", 128, 0),
  random_range_ratio = text("lengths vary by this share to both sides: 0.2, or "
    .. '{"input": 0.5, "output": 0}', "0.0"),
  random_prefix_len = whole("tokens that all prompts begin with", 0),
  random_batch_size = whole("texts a request, of embeddings and rerank", 1, 1),
  sharegpt_output_len = whole("tokens an answer; without: as many as the recorded one has", nil, 1),
  custom_output_len = whole("tokens an answer; -1: the row's output_tokens", 256, -1),

  lora_modules = text("names of adapters: each request goes to one of them as its model"),
  lora_assignment = { default = "random", choices = { "random", "round-robin" },
    help = "which request goes to which adapter" },
  ignore_eos = flag("answers exactly as long as asked for (random does so anyway)"),
  logprobs = whole("log probabilities a token, of completions", nil, 0),
  request_id_prefix = text("x-request-id is this and the request's number, from 0 on"),
}

return params
