-- stoke.dataset.params: what `stoke run bench -P …` takes: the flags of
-- `vllm bench serve` that say what is sent, underscored, with its defaults.

local function text(help, default) return { type = "string", help = help, default = default } end
local function whole(help, default, min, max)
  return { type = "integer", help = help, default = default, min = min or 0, max = max }
end
-- Of texts that are made here.
local LONGEST = 2 ^ 24
local function number(help, default, min, max)
  return { type = "number", help = help, default = default, min = min, max = max }
end
local function flag(help) return { type = "boolean", help = help, default = false } end
local function file(help) return { type = "place", help = help } end

local params = {
  dataset_name = { default = "random", help = "what prompts are made of", choices = {
    "random", "sharegpt", "custom", "custom_image", "custom_audio", "sonnet",
    "prefix_repetition", "burstgpt", "timed_trace", "spec_bench", "speed_bench", "random-mm",
    "random-rerank", "hf",
  } },
  dataset_path = file("the file of a data set that is one"),
  num_prompts = whole("how many requests; below 1: all that the file has", 1000, -1),
  self_timed = { type = "boolean",
    help = "false: flags say when requests leave, not the data set" },
  no_oversample = flag("with fewer rows than num_prompts send fewer, instead of some again"),
  skip_bad_rows = flag("leave bad rows of a file out and count them, instead of refusing it"),
  disable_shuffle = flag("in the file's order"),
  chat_template_kwargs = text("a JSON object for the chat template that completions get"),
  skip_chat_template = flag("of custom data for completions: send the bare text"),

  tokenizer = file("tokenizer.json, its folder, or a model that the hub's cache has; "
    .. "without: the model's own there, else the server's /tokenize, else words"),
  tokenizer_mode = text("auto or hf; others are taken as these", "auto"),
  skip_tokenizer_init = flag("ask no tokenizer but the server's"),

  input_len = whole("the same as random_input_len", nil, 0, LONGEST),
  output_len = whole("tokens an answer, of all data sets but sonnet and speed_bench", nil, 0),
  random_input_len = whole("tokens a prompt, without random_prefix_len", 1024, 0, LONGEST),
  random_output_len = whole("tokens an answer", 128, 0),
  random_range_ratio = text("lengths vary by this share to both sides: 0.2, or "
    .. '{"input": 0.5, "output": 0}', "0.0"),
  random_prefix_len = whole("tokens that all prompts begin with", 0, 0, LONGEST),
  random_batch_size = whole("texts a request, of embeddings and rerank", 1, 1, 2 ^ 20),
  sharegpt_output_len = whole("tokens an answer; without: as many as the recorded one has", nil, 1),
  custom_output_len = whole("tokens an answer; -1: the row's output_tokens", 256, -1),

  custom_ensure_client_side_data = flag("send pictures themselves, not where they are"),
  image_embeddings = { choices = { "clip", "vlm2vec", "infinity_clip" }, default = nil,
    help = "how a model that embeds pictures is asked (endpoint embeddings_chat; "
      .. "infinity_clip: embeddings)" },
  enable_multimodal_chat = flag("sound goes into a chat, not into a form"),

  prefix_repetition_prefix_len = whole("tokens of each beginning", 256, 0, LONGEST),
  prefix_repetition_suffix_len = whole("tokens behind it", 256, 0, LONGEST),
  prefix_repetition_num_prefixes = whole("how many beginnings", 10, 1),
  prefix_repetition_output_len = whole("tokens an answer", 128, 1),

  sonnet_input_len = whole("tokens a prompt, at most", 550, 1),
  sonnet_output_len = whole("tokens an answer", 150, 1),
  sonnet_prefix_len = whole("of these that all prompts begin with", 200),

  spec_bench_output_len = whole("tokens an answer", 256, 1),
  spec_bench_category = text("only rows of this one"),
  speed_bench_dataset_subset = { default = "qualitative", help = "which file of the folder",
    choices = { "qualitative", "throughput_1k", "throughput_2k", "throughput_8k",
      "throughput_16k", "throughput_32k" } },
  speed_bench_output_len = whole("tokens an answer", 4096, 1),
  speed_bench_category = text("only rows of this one"),

  hf_name = text("which data set of the hub dataset_path is, when its path doesn't say"),
  hf_subset = text("of a folder: the folder in it"),
  hf_split = text("of a folder: which file"),
  hf_output_len = whole("tokens an answer", nil, 1),
  blazedit_min_distance = number("of the edits", 0, 0, 1),
  blazedit_max_distance = number("of the edits", 1, 0, 1),
  bfcl_categories = text("only rows of these, with commas between"),

  timed_trace_label_timestamp = text("the member with the time", "timestamp"),
  timed_trace_label_input_length = text("the one with the tokens of the prompt", "input_length"),
  timed_trace_label_output_length = text("the one with those of the answer", "output_length"),
  timed_trace_label_hash_ids = text("the one with the hashes of its blocks", "hash_ids"),
  timed_trace_chunk_hash_size = whole("tokens that a hash stands for; Mooncake: 512", 16, 1),
  timed_trace_sec_multiplier = number("times the timestamps are seconds; milliseconds: 0.001", 1,
    0),

  random_mm_base_items_per_request = whole("pictures and videos a request", 1),
  random_mm_num_mm_items_range_ratio = number("their number varies by this share", 0, 0, 1),
  random_mm_limit_mm_per_prompt = text("of each kind at most", '{"image": 255, "video": 1}'),
  random_mm_bucket_config = text("sizes (height, width, frames) and their weights",
    "{(256, 256, 1): 0.5, (720, 1280, 1): 0.5, (720, 1280, 16): 0.0}"),
  no_reranker = flag("of random-rerank: an embedding model gets question and documents"),

  lora_modules = text("names of adapters: each request goes to one of them as its model"),
  lora_assignment = { default = "random", choices = { "random", "round-robin" },
    help = "which request goes to which adapter" },
  ignore_eos = flag("answers exactly as long as asked for (random does so anyway)"),
  logprobs = whole("log probabilities a token, of completions", nil, 0),
  request_id_prefix = text("x-request-id is this and the request's number, from 0 on"),
}

return params
