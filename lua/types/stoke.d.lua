---@meta
--| # Scripting reference
--|
--| A scenario is a Lua file that returns a table. It says *what* is sent and *what is made of the
--| answers*; the C core decides *when* bytes move and takes every timestamp, before any Lua runs.
--| The language is LuaJIT's (Lua 5.1 with `bit`, `table.new`, `goto`, …). `stoke run my.lua` runs
--| one, [`scenarios/`](../scenarios/README.md) holds ready ones to read.
--|
--| ```lua
--| -- haiku.lua
--| return {
--|   description = "One short chat completion a request",
--|   request = function(ctx)
--|     return {
--|       prompt = "Write a haiku about " .. ctx.rng:pick { "rain", "iron", "tea" } .. ".",
--|       max_tokens = 64,
--|     }
--|   end,
--| }
--| ```
--|
--| For completion and checks in an editor with LuaLS put `lua/types` into `workspace.library` and
--| `---@type stoke.Scenario` above the table.

--| ## The scenario

---What a scenario file returns. Every field is optional but one of `request` and `session`. Unknown
---fields are errors. A hook that is absent costs nothing.
---@class stoke.Scenario
---@field name? string a short name without slashes, shown in lists and results; the file's name by default
---@field version? string|number kept in the results
---@field description? string one line
---@field params? table<string, stoke.Param> what the user may set with `-P name=value`
---@field load? stoke.Load|fun(params: table<string, any>): stoke.Load the default load, which may depend on the parameters; flags override it field by field
---@field metrics? table<string, "counter"|"gauge"|"rate"|"trend"> metrics of your own, declared; see [Recording](#recording)
---@field backends? table<string, stoke.Backend> APIs of its own, for `endpoint`; also those in its folder `backends/`
---@field thresholds? (string|stoke.Threshold)[] what the run must hold, such as `"ttft.p95 < 2s"`; a broken one makes the exit status 99; see [Thresholds](#thresholds)
---@field setup? fun(run: stoke.Run): any once, on the main thread, before any load. What it returns must be plain data (nil, booleans, numbers, strings, open data files and tokenizers, tables of them); every thread gets a copy as `ctx.data`. `nil, "why"` ends the run with these words, for mistakes of the user's
---@field request? fun(ctx: stoke.Context): stoke.Request?, string? once a request; nil when there is nothing left to send. `nil, "why"` is an error
---@field session? fun(s: stoke.Session) once a session, as a coroutine: what waits yields to the event loop
---@field on_first_token? fun(r: stoke.Response) at the first non-empty payload of a stream. `r` shows what is known so far
---@field on_chunk? fun(r: stoke.Response, text: string): boolean? at every payload event of a stream: its text ("" for tool calls) in whole characters; `r.text` is all that came so far. `false` hangs up: the request ends as `cancelled`. It runs per token, so keep it small
---@field on_response? fun(r: stoke.Response): boolean?, string? after each request. Nothing or `true` keeps the verdict; `false, "reason"` makes it failed with outcome `check`; anything else is an error
---@field control? fun(run: stoke.Control): nil, string? drives the load, as a coroutine on the main thread. `nil, "why"` is a run that failed (exit status 1)
---@field init? fun(ctx: stoke.Context) once on every thread, after `setup` and before any load
---@field exit? fun(ctx: stoke.Context): any once on every thread, after the drain. Plain data that it returns is `results.threads[i]` in `summary`: what each thread has kept in variables of its own
---@field teardown? fun(run: stoke.Run) once, on the main thread, after the drain
---@field summary? fun(results: stoke.Results): table|string|nil once, at the end. A table is merged into the results' `custom` (over a metric of the same name), a string is printed after the table

---A threshold that ends the run when it is broken: `{ "error_rate < 5%", abort_on_fail = true, grace = "10s" }`.
---@class stoke.Threshold
---@field [1] string the expression
---@field abort_on_fail? boolean look once a second while the run goes on, and stop it
---@field grace? string|number but not before this time

---One parameter: `params = { turns = { default = 6, min = 1, help = "model calls" } }`. All mistakes in
---`-P` are told at once, before anything is sent.
---@class stoke.Param
---@field default? any its type is the parameter's, when `type` says nothing else
---@field type? "string"|"number"|"integer"|"boolean"|"duration"|"path"|"place"|"dist"|"list" a `duration` (`"30s"`, `"250ms"`) becomes seconds, a `dist` a distribution, a `list` (`a,b,c`) a table; a `path` must exist, becomes absolute, and what the user points to may be read; a `place` is that where such a file is, and otherwise what was typed, such as a model's name
---@field min? number|string of a `dist`: not all draws may be below
---@field max? number|string
---@field choices? (string|number)[]
---@field required? boolean must be set by the user
---@field help? string

---When requests leave. For a `session` scenario the same fields speak of sessions.
---@class stoke.Load
---@field request_rate? number|number[] a second, open loop; `{ from, to }` ramps in time; `math.huge`: all at once
---@field session_rate? number|number[] the same, for sessions
---@field arrival? "poisson"|"constant"|"gamma" Poisson by default
---@field burstiness? number the shape of `gamma`: 1 is Poisson, below 1 burstier
---@field max_concurrency? integer|number[] at most so many at once; alone: a closed loop; `{ from, to }` ramps in time
---@field max_prefill? integer at most so many requests that wait for their first token
---@field pacing? string|number closed loop: a slot starts no sooner than this after its last start
---@field overflow? "queue"|"drop" what happens at the cap in an open loop; `queue` by default
---@field num_requests? integer in a session scenario the requests of all; sessions that send none (plain `s:http`, say) are ended by `num_sessions` or `duration` alone
---@field num_sessions? integer
---@field duration? string|number
---@field warmup? string|number a time before the measurement, in no figure
---@field warmup_requests? integer or a number of requests
---@field drain? string|number how long to wait for the rest; 30 s by default
---@field shape? "linear"|"exponential"|"step" of a ramp
---@field steps? integer how many, of `step`
---@field stages? stoke.Stage[] one after the other
---@field rate? fun(t: number): number any curve: requests a second at `t` seconds
---@field arrivals? fun(i: integer, rng: stoke.Rng): number? any gaps, in seconds; nil ends the run. Asked on the main thread, after `setup`, before the load

---One of `load.stages`.
---@class stoke.Stage
---@field duration? string|number
---@field num_requests? integer a stage ends by time or number, whichever comes first
---@field num_sessions? integer
---@field request_rate? number|number[]
---@field session_rate? number|number[]
---@field arrival? "poisson"|"constant"|"gamma"
---@field burstiness? number
---@field max_concurrency? integer|number[]
---@field overflow? "queue"|"drop"
---@field max_prefill? integer
---@field pacing? string|number
---@field shape? "linear"|"exponential"|"step"
---@field steps? integer
---@field label? string `ctx.stage`, and the name of its figures

--| ## What hooks get

---The argument of `request`. One table for all requests of a thread, filled anew for each: don't
---keep it, and keep nothing in it.
---@class stoke.Context
---@field id integer 1, 2, 3 … over the whole run, whatever the number of threads
---@field params table<string, any> the parameters
---@field data any `setup`'s result
---@field args string[] what stood after `--` on the command line, unchanged
---@field stage? string the label of the current stage
---@field warmup boolean this request belongs to the warm-up (or is the look at the server before it)
---@field endpoint string the backend that `--endpoint` names, `"chat"` by default; a path when none is like it
---@field model string `-m`
---@field rng stoke.Rng random numbers of this request's own
---@field now fun(): number seconds since the run began
---@field record fun(ctx: stoke.Context, name: string, value?: number|boolean, tags?: table<string, string|number|boolean>) see [Recording](#recording)
---@field check fun(ctx: stoke.Context, name: string, ok: any): boolean

---The argument of `setup` and `teardown`.
---@class stoke.Run
---@field params table<string, any>
---@field args string[]
---@field data any in `teardown`: `setup`'s result
---@field endpoint string as in `ctx`
---@field model string
---@field rng stoke.Rng
---@field seed integer
---@field now fun(): number
---@field record fun(run: stoke.Run, name: string, value?: number|boolean, tags?: table<string, string|number|boolean>)
---@field check fun(run: stoke.Run, name: string, ok: any): boolean

local run = {}

---As `s:http`, but it blocks, and what it did is in no figure: load an adapter before the run, clean up
---after it. Neither in `control` nor anywhere else.
---@param exchange stoke.Http
---@return stoke.Response
function run:http(exchange) end

---The argument of `session`: one user. Calls that wait (`request`, `sleep`, `parallel`, …)
---yield to the event loop and may stand in loops, `pcall`, iterators and `__index`, but not in a
---callback of `string.gsub` or `table.sort`, nor in a coroutine of the script's own. Only
---stoke resumes a session: `coroutine.running()` is nil there.
---@class stoke.Session
---@field id integer 1, 2, 3 … over the whole run
---@field branch integer 0; in `s:parallel` and `s:race` the branch's number
---@field turn integer requests made so far
---@field params table<string, any>
---@field data any
---@field args string[]
---@field stage? string
---@field rng stoke.Rng the session's own; a branch has one too
local session = {}

---Send, wait, return the answer. Never raises for a request that failed: look at `r.ok`. A wrong
---table does raise.
---@param request stoke.Request
---@return stoke.Response
function session:request(request) end

---Any other HTTP exchange: retrieval, `/tokenize`, an admin call. Its figures stand apart, under `"http"` by
---name, and are in none of the requests'. Never raises for an exchange that failed; `r.body` and `r:json()`
---are the answer.
---@param exchange stoke.Http
---@return stoke.Response
function session:http(exchange) end

---Wait: seconds, `"250ms"`, or a distribution to draw from, as `"exp(2s)"` or a parameter of type `dist`.
---@param time number|string|stoke.Dist
function session:sleep(time) end

---Wait, and count it as the user's think time (once, where several branches think at the same time).
---@param time number|string|stoke.Dist
function session:think(time) end

---Run functions side by side, each with a child session as its argument, and wait for all.
---@param branches (fun(s: stoke.Session): any)[]
---@return any[] results one per branch, in their order
function session:parallel(branches) end

---The same, but only until the first branch returns something true: hedged requests, the best of n. The
---others end where they are, and hang up on what they have on the wire (outcome `cancelled`).
---@param branches (fun(s: stoke.Session): any)[]
---@return any result what it returned; nil when none returned anything true
---@return integer? place whose it was: its place in the list
function session:race(branches) end

---A history that grows with every turn. Options that are not the conversation's own (`model`, `tools`,
---`max_tokens`, `tags`, …) are fields of every request.
---@param options stoke.ConversationOptions
---@return stoke.Conversation
function session:conversation(options) end

---End this session as failed. Does not return.
---@param reason? string
function session:fail(reason) end

---Ask the whole run to stop: nothing new begins, what is in flight is drained. A session that does so before
---it has sent or waited for anything is in no figure: it found nothing left to do.
---@param reason? string
function session:stop(reason) end

---How many turns are meant to come: those that do not are counted as skipped.
---@param turns integer
function session:plan(turns) end

---Record a value of a declared metric; see [Recording](#recording).
---@param name string
---@param value? number|boolean
---@param tags? table<string, string|number|boolean>
function session:record(name, value, tags) end

---Count a check as passed or failed; see [Recording](#recording).
---@param name string
---@param ok any
---@return boolean ok
function session:check(name, ok) end

---A line on stderr that does not tear the live screen.
---@param ... any
function session:log(...) end

---Seconds since the run began.
---@return number
function session:now() end

---What `s:http` takes: a `path` on the server under test, or a `url`.
---@class stoke.Http
---@field path? string begins with `/`; appended to the base URL
---@field url? string absolute. The run's headers (the key is one) are sent to the server under test alone
---@field method? string `GET`, or `POST` with a body
---@field headers? table<string, string|number|boolean> on top of the run's
---@field body? string|table a table is sent as JSON
---@field timeout? number|string `--timeout` by default
---@field name? string of its figures; the path without its query by default

---@class stoke.ConversationOptions: stoke.Request
---@field system? string the system's message, once, in front
---@field history? "live"|"recorded" whose answers go into the history: the server's (the default; lengths drift with what it says), or the data's (bodies are the same in every run)
---@field messages? table[] what was said before. With `history = "recorded"`: the whole talk, replayed by `next`
---@field turns? (string|table)[] recorded rounds for `next`: a text, a list of messages, a row's `turns[i]` (`messages` or `prompt`, and `answer` or `reference`). Rows that hold all that was said before (cumulative) are cut to what is new
---@field empty? "keep"|"drop"|"fail" an answer without text and tool calls: an empty message (default), none, or the end of the session
---@field reasoning? "drop"|"keep" whether reasoning is sent back, as `reasoning_content`
---@field max_turns? integer more model calls than that fail the session

---@class stoke.Conversation
---@field messages table[] all that was said; to read, not to change
---@field turn integer model calls so far
local conversation = {}

---Say something as the user and wait for the answer. After a failed request the history has what was
---said but no answer; `continue` tries again. `options.answer` is the recorded one.
---@param text string|table[]
---@param options? stoke.Request
---@return stoke.Response
function conversation:ask(text, options) end

---Send the history as it is, after `tool` or `add`.
---@param options? stoke.Request
---@return stoke.Response
function conversation:continue(options) end

---The next recorded round; nil when there is none left.
---@param options? stoke.Request
---@return stoke.Response?
function conversation:next(options) end

---How many recorded rounds are left.
---@return integer
function conversation:left() end

---Add a tool's answer to call `id`; a table becomes JSON.
---@param id string
---@param content string|table
---@return stoke.Conversation
function conversation:tool(id, content) end

---Add a message: `add("user", text)` or `add { role = …, content = … }`.
---@param role string|table
---@param content? string|table[]
---@return stoke.Conversation
function conversation:add(role, content) end

---A copy for a branch of `s:parallel`, which goes its own way.
---@param branch stoke.Session
---@return stoke.Conversation
function conversation:fork(branch) end

---Forget all but the system's message and the last `keep` messages, as agents do when their context
---is full. Tools' answers whose call is forgotten go with it.
---@param keep integer
---@return stoke.Conversation
function conversation:forget(keep) end

---The argument of `control`. `measure` and `sleep` yield, as a session's calls do.
---@class stoke.Control
---@field params table<string, any>
---@field args string[]
---@field data any
---@field rng stoke.Rng
---@field seed integer
---@field now fun(): number
local control = {}

---The load from now on: the fields of `load` that may change (`request_rate`, `max_concurrency`, …).
---@param load stoke.Load
function control:set(load) end

---Measure a stretch of the run: wait `settle`, then count for `duration` or `num_requests`. nil when the run
---ends meanwhile (interrupted, out of time): what is known can be reported then, and nothing more measured.
---@param window { label?: string, settle?: number|string, duration?: number|string, num_requests?: integer }
---@return stoke.Measurement?
function control:measure(window) end

---Wait.
---@param time number|string
function control:sleep(time) end

---Put a plain value into the results' `custom`.
---@param name string
---@param value any
function control:report(name, value) end

---A line under the result table.
---@param text string
function control:say(text) end

---End the run, after the drain.
---@param reason? string
function control:stop(reason) end

---What `run:measure` returns. Latencies (`m.ttft`, `m.tpot`, `m.itl`, `m.e2el`, `m.queue`, …) are tables with
---`count`, `mean`, `std`, `min`, `max` and percentiles such as `p50`, `p99`, in seconds. A figure without
---samples is nil.
---@class stoke.Measurement
---@field label string
---@field sent integer
---@field completed integer
---@field failed integer
---@field cancelled integer
---@field unsent integer
---@field duration number
---@field request_rate number sent a second
---@field request_throughput number
---@field output_throughput number
---@field request_goodput number
---@field good_share number
---@field error_rate number
---@field in_flight_begin integer
---@field in_flight integer at the end
---@field max_concurrent_requests integer
---@field cached_tokens integer
---@field input_tokens integer
---@field output_tokens integer
---@field client "ok"|"limited" whether this machine kept up
local measurement = {}

---Does a [threshold](#thresholds) hold for these requests? No braces, checks, sessions or metrics of your own.
---@param expression string
---@return boolean holds, number? value in the expression's unit; nil when there is no data, which does not hold
function measurement:holds(expression) end

---Add a later measurement, so that this one speaks of both: more requests for a far percentile.
---@param other stoke.Measurement
---@return stoke.Measurement self
function measurement:merge(other) end

---What `summary` gets: the results file's object, where what is under `"stoke"` can also be reached from
---the top. Times are in milliseconds here, as in the file.
---@class stoke.Results
---@field completed integer
---@field failed integer
---@field duration number seconds
---@field request_throughput number
---@field output_throughput number
---@field outcomes table<string, integer>
---@field latency table<string, table<string, number>> `results.latency.ttft.p99`: `ttft`, `tpot`, `itl`, `e2el`, `queue`, … with `count`, `mean`, `p50`, `p99`, …
---@field tags table<string, table<string, table>> `results.tags.class.long`: `completed`, `failed`, `outcomes`, `latency`, …
---@field turns table[] the same by turn
---@field stages table[] the same by stage, each with its `label`
---@field sessions table `started`, `completed`, `failed`, `cut`, `duration`, …
---@field custom table<string, any> metrics of the scenario: `results.custom.tool_calls.sum`
---@field checks table[] `name`, `passed`, `failed`, `rate`
---@field thresholds table[]
---@field threads any[] what each thread's `exit` returned

--| ## Recording
--|
--| What a scenario measures by itself is declared in its `metrics` and recorded from any hook, with
--| `s:record`, `ctx:record`, `run:record`, or `stoke.record` where none of them is at hand. Values of all threads are
--| merged, each counted exactly once; those of the warm-up are not counted. A name that was not declared and a value of the
--| wrong type are errors.
--|
--| A [threshold](#thresholds) may choose among them by stage and by tags: those of the request whose answer is at hand
--| (in `on_first_token`, `on_chunk` and `on_response`), and those of the call, its last argument:
--| `s:record("tool_wait", 0.3, { tool = "find" })`. The stage is the one in which the request or the session began. What a
--| threshold chooses is in the results beside its metric, as `"tool_wait{tool=find}"`.
--|
--| | kind | `record` takes | the results have |
--| | --- | --- | --- |
--| | `counter` | a number >= 0; 1 by default | `sum`, `rate` (a second), `count` |
--| | `gauge` | a number | `value` (the latest), `min`, `max`, `count` |
--| | `rate` | a boolean | `rate` (the share of true), `passed`, `count` |
--| | `trend` | any finite number | `mean`, `std`, `min`, `p1` … `p999`, `max`, `count`; percentiles within 0.1 % |
--|
--| A check is a named boolean: `s:check("has an answer", #r.text > 0)`. It needs no declaration, anything but nil and
--| false passes, and a failed one fails nothing by itself. At most 256 names are told apart.
--|
--| ```lua
--| metrics = { tool_calls = "counter", tool_wait = "trend" },
--| on_response = function(r)
--|   stoke.record("tool_calls", #(r.tool_calls or {}))
--|   stoke.check("finished", r.finish_reason == "stop")
--| end,
--| ```
--|
--| `tags` of a request (`tags = { class = "long" }`) give figures by class: latencies, counts and outcomes are in the
--| results under `tags.class.long`. At most 64 different values are told apart; the rest is `(other)`, with a warning.
--|
--| ## Thresholds
--|
--| `METRIC{NAME=VALUE,…}.STATISTIC OPERATOR NUMBER UNIT`, in the scenario's `thresholds`, as `--threshold EXPR`, or a
--| line of `--thresholds FILE` (`#` begins a comment). They add up: none replaces another.
--|
--| | metric | statistic | number |
--| | --- | --- | --- |
--| | `ttft ttfat ttfb tpot itl e2el queue ttft_due e2el_due` | `mean min max std count med p50 p99.9 …` | a time: `500ms`, `2s` |
--| | `error_rate success_rate good_share` | | a share: `1%`, `0.01` |
--| | `request_throughput output_throughput total_token_throughput request_goodput` | | a second |
--| | `sent completed failed input_tokens output_tokens`, and every outcome (`timeout_ttft`) | | a count |
--| | `checks`, `check{NAME}` | `rate` (when none is said) `passed failed count` | `checks > 99%` |
--| | `sessions` | `started completed failed cut turns turns_skipped max_turns` | a count |
--| | `sessions.duration`, `sessions.active` (without thinking) | as latencies | a time |
--| | a metric of the scenario's | those in the table above; for a counter `sum`, a gauge `value`, a rate `rate` when none is said | plain; times (`250ms`) are taken as seconds |
--|
--| Braces choose requests, and all conditions must hold: a tag's name and value, `tag=VALUE` (any tag with that value),
--| `stage=LABEL`, `turn=NUMBER`. Of a metric of the scenario's they choose [values](#recording), by stage and tags, and
--| a counter's `rate` is over the stage's own time; what was never recorded with these tags counts 0. Operators are `< <= > >= == !=`. A figure without any sample is *no data*: broken,
--| and said so. `abort` or `abort after 10s` behind the expression (`--threshold "error_rate < 5% abort after 10s"`)
--| looks once a second while the run goes on, and stops it.
--|
--| The exit status is 99 when a threshold is broken; 130 (interrupted) and 1 (no request or no session succeeded, or
--| a fault, such as an error in `control`, `teardown` or `summary`) go before it.

--| ## A request

---What `request` returns and `s:request` takes: one of `prompt`, `messages` and `body`, and the rest as
---wanted. Unknown fields and wrong types are errors: what only the server knows goes into `extra`.
---The same table always gives the same bytes: keys are sorted, an empty table is `{}` except in
---`messages`, `tools`, `stop` and what `stoke.json.array` made.
---@class stoke.Request
---@field prompt? string|integer[]|string[] a user's message, or the prompt of a completion (there also a list, of token ids for example)
---@field messages? table[]|stoke.JsonList a whole conversation: `{ role = "user", content = "…" }`, …
---@field body? table|string the whole body: a string is sent byte for byte, a table is encoded; nothing is added but `extra`
---@field endpoint? string a backend (below), or a path, which is known by its end; `--endpoint` by default, whose path also holds for requests that name its backend
---@field model? string `-m` by default
---@field max_tokens? integer `--max-tokens` wins over it
---@field max_completion_tokens? integer the same by its newer name; `--max-tokens` takes its place
---@field min_tokens? integer
---@field n? integer number of answers
---@field temperature? number
---@field top_p? number
---@field top_k? integer
---@field min_p? number
---@field presence_penalty? number
---@field frequency_penalty? number
---@field stop? string|string[]
---@field seed? integer
---@field tools? table[]
---@field tool_choice? string|table
---@field response_format? table
---@field logprobs? boolean|integer
---@field reasoning_effort? string `"low"`, `"medium"`, `"high"`, …
---@field documents? string[] of `rerank`, whose query is the `prompt`
---@field top_n? integer of `rerank`
---@field file? { bytes: string, name?: string, type?: string } of `transcriptions` and `translations`: the recording, `audio.wav` of `audio/wav` by default
---@field language? string of the same; `"en"` by default
---@field dimensions? integer of `embeddings`
---@field encoding_format? string of `embeddings`
---@field ignore_eos? boolean generate `max_tokens`, whatever the model would say (vLLM and others)
---@field extra? table merged into the body at the end, objects deep; it wins over `--extra-body`
---@field headers? table<string, string|number|boolean> win over `-H`; names regardless of case
---@field stream? boolean `true` by default
---@field timeout? number|string for the whole answer; `--timeout` by default
---@field ttft_timeout? number|string until the first token
---@field idle_timeout? number|string between arrivals
---@field tags? table<string, string|number|boolean> for figures by class: `ttft{tag=long}.p99 < 2s`
---@field slo? { ttft?: number|string, tpot?: number|string, e2el?: number|string } counted in goodput
---@field cancel_after? { tokens?: integer, seconds?: number|string } the client hangs up: outcome `cancelled`; 0 seconds: as soon as it has asked
---@field prompt_tokens? integer the planned length, used when the server tells none
---@field audio_seconds? number|string how long the sound in it is, for `rtfx`: seconds of sound a second
---@field keep_body? boolean keep the raw answer, up to `--max-answer` (64M): `r.body`

--| ## Backends
--|
--| `endpoint` says which API a request speaks. Messages, tools, tool choice and formats are written as
--| OpenAI's chats have them, and are translated; a field that an API has no place for is an error.
--| So are the parts of a message; one that an API does not take is an error of the request: `anthropic` has `text`,
--| `image_url` (also as `data:`) and `file` (a PDF), `responses` these and `input_audio`, `ollama` `text` and `image_url`
--| as `data:`. Parts in an API's own shapes go to `anthropic` and `responses` as they are.
--|
--| | `endpoint` | path | besides `model` and `stream` |
--| | --- | --- | --- |
--| | `chat` | `/v1/chat/completions` | all fields |
--| | `completions` | `/v1/completions` | all but `messages` |
--| | `responses` | `/v1/responses` | `prompt`, `messages`, `max_tokens`, `temperature`, `top_p`, `tools`, `tool_choice`, `response_format`, `reasoning_effort`, `ignore_eos` |
--| | `anthropic` | `/v1/messages` | `prompt`, `messages`, `max_tokens` (1024), `temperature`, `top_p`, `top_k`, `stop`, `tools`, `tool_choice`; the key goes into `x-api-key` |
--| | `ollama` | `/api/chat` | `prompt`, `messages`, `tools`, `max_tokens`, sampling, `seed`, `stop`, `response_format`, `reasoning_effort` |
--| | `ollama_generate` | `/api/generate` | the same without `messages` and `tools` |
--| | `embeddings` | `/v1/embeddings` | `prompt` (also a list) or `messages`, `dimensions`, `encoding_format` |
--| | `embeddings_chat` | `/v1/embeddings` | messages, as vLLM takes them, to be embedded |
--| | `pooling` | `/pooling` | vLLM's own: `prompt` or `messages`; answers as `embeddings` |
--| | `rerank` | `/v1/rerank` | `prompt` (the query), `documents`, `top_n` |
--| | `transcriptions` | `/v1/audio/transcriptions` | a form: `file`, `language`, `prompt`, `max_tokens`, sampling, `seed`, `response_format`, `ignore_eos`; `extra` may hold more, null takes a field away |
--| | `translations` | `/v1/audio/translations` | the same |
--|
--| Another API is a table in the scenario's field `backends`, or a file in the folder `backends/` beside
--| it. Hugging Face's native stream, in ten lines:
--|
--| ```lua
--| -- backends/tgi.lua; requests say endpoint = "tgi"
--| return {
--|   path = "/generate_stream",
--|   body = { prompt = "inputs", max_tokens = "parameters.max_new_tokens" },
--|   dialect = { stream = {
--|     { "token.text", "content" },
--|     { "details.generated_tokens", "completion_tokens" },
--|     { "details.finish_reason", "finish" },
--|   } },
--| }
--| ```

---One API. Mistakes in it are told before anything is sent.
---@class stoke.Backend
---@field path string behind the URL: `"/v1/things"`
---@field body string|table<string, string>|fun(request: stoke.Request): table|string, string? how bodies are made. A function gets the request with `model`, `stream` and `max_tokens` as the command line has them, and returns the body; `extra` and `--extra-body` are merged into it. A body that is no JSON is a string, with its content type as the second result; `request.extra` is all that would be merged in. A table says where each field goes. A name is one of the two that are made in C, `"chat"` and `"completions"`
---@field fields? string[] of a function: the request's fields that it has a place for, its own included; without it all known ones are let through
---@field dialect? string|stoke.Dialect how answers are read: `"chat"`, `"completions"`, `"responses"`, `"anthropic"`, `"ollama"`, `"embeddings"`, `"rerank"`, or one's own. Without it any 2xx answer is fine and nothing is known of it
---@field headers? table<string, string> of all its requests; `-H` and a request's own win
---@field key_header? string takes the API key in place of `Authorization: Bearer`
---@field stream? boolean `false`: answers never come as a stream

---Where things stand in an answer: rules `{ "path", "field" }`, or `{ "path", "field", "kind" }` for events of
---one kind only (the SSE event's name, or what `type` found). A path is `"choices[].delta.content"`.
---Fields: `content`, `reasoning`, `refusal`, `audio`, `tool_index`, `tool_id`, `tool_name`, `tool_arguments`,
---`choice_index`, `finish` ("error", "abort", "failed" and "cancelled" are failures), `prompt_tokens`, `completion_tokens`, `cached_tokens`, `reasoning_tokens`,
---`cached_beside` (cached tokens that `prompt_tokens` leaves out), `error` (anything but null, false and
---empty: the request failed), `kind` (a text; "error" is one), `type`, `end` (the answer ends properly).
---A dialect without content, reasoning, refusal, audio and tools is one of answers without tokens.
---@class stoke.Dialect
---@field stream? string[][] of the events of a stream; `plain` by default
---@field plain? string[][] of an answer in one piece; `stream` by default

--| ## A response

---What `s:request` returns and `on_response` gets. In a hook it is valid until the hook returns: keep the
---fields you need, not the response. Nothing is copied into Lua before it is asked for. What is not
---known is nil.
---@class stoke.Response
---@field ok boolean
---@field outcome string `ok`, `timeout_ttft`, `rate_limited`, …: exactly one
---@field id integer of the request; in a session scenario the session's times 65536, plus the turn
---@field session integer the session's id; of a request scenario the request's
---@field turn integer 1, 2, 3 … within the session
---@field branch integer 0, or the number of the branch of `s:parallel`
---@field tags table<string, string> of the request
---@field params table<string, any> the parameters, and
---@field data any what `setup` returned: in hooks that get nothing else
---@field status? integer HTTP; nil when there was no answer
---@field error? string the server's or the transport's words, when not ok
---@field error_type? string the server's name for it
---@field text string the answer, up to `--max-answer` (64M)
---@field reasoning string
---@field refusal string what it said instead of an answer (empty in on_chunk)
---@field body? string the raw body, when `keep_body` asked for it; of `embeddings`, `rerank` and other answers without tokens always
---@field tool_calls? stoke.ToolCall[] merged by index
---@field finish_reason? string
---@field usage? stoke.Usage as the server told it
---@field tokens? integer
---@field token_source? "usage"|"tokenizer"|"chunks"
---@field chunks integer payload events
---@field headers table<string, string> names in lower case
---@field attempts integer requests on the wire
---@field queue? number due -> sent; this and all below in seconds
---@field connect? number
---@field ttfb? number
---@field ttft? number
---@field tpot? number
---@field e2el? number
local response = {}

---The text (of a plain exchange: the body) as JSON.
---@return any value, string? err nil and the reason when it is not JSON
function response:json() end

---@class stoke.ToolCall
---@field id string `call_TURN_NUMBER` where the server gave none
---@field name string
---@field arguments string JSON

---@class stoke.Usage
---@field prompt_tokens? integer
---@field completion_tokens? integer
---@field cached_tokens? integer
---@field reasoning_tokens? integer

--| ## Random numbers

---A stream of its own for each request or session, derived from the run's `--seed` and the id: the
---same id draws the same numbers on any number of threads and machines. The warm-up has streams of its
---own, so it warms no prompt of the measurement. `math.random` draws from the same stream, and
---`math.randomseed` is refused. Don't let draws depend on `pairs`: the order of its keys is not the
---same everywhere.
---@class stoke.Rng
local rng = {}

---Uniform; from 0 up to 1 by default.
---@param lo? number
---@param hi? number
---@return number
function rng:uniform(lo, hi) end

---A whole number, both ends included.
---@param lo integer
---@param hi integer
---@return integer
function rng:int(lo, hi) end

---Normal; 0 and 1 by default.
---@param mean? number
---@param sd? number
---@return number
function rng:normal(mean, sd) end

---Log-normal; `sigma` is the standard deviation of the logarithm.
---@param median number
---@param sigma number
---@return number
function rng:lognormal(median, sigma) end

---Exponential.
---@param mean number
---@return number
function rng:exp(mean) end

---Gamma; its mean is `shape * scale`.
---@param shape number
---@param scale number
---@return number
function rng:gamma(shape, scale) end

---1 to n, k with weight `k^-s`.
---@param n integer
---@param s number
---@return integer
function rng:zipf(n, s) end

---True with probability `p`, 0.5 by default.
---@param p? number
---@return boolean
function rng:bool(p) end

---One item of a list.
---@generic T
---@param list T[]
---@return T
function rng:pick(list) end

---A key by its weight, `{ short = 3, long = 1 }`, or the place in a list of weights.
---@param weights table<string, number>|number[]
---@return string|integer
function rng:weighted(weights) end

---Shuffles a list in place and returns it.
---@generic T
---@param list T[]
---@return T[]
function rng:shuffle(list) end

---`n` hexadecimal digits.
---@param n integer
---@return string
function rng:hex(n) end

---`n` common English words with blanks between them: a little more than `n` tokens, as nearly all of
---the 986 are one token in the tokenizers in use. Or words of a list.
---@param n integer
---@param list? string[]
---@return string
function rng:words(n, list) end

---A distribution: a parameter of type `dist`, or `stoke.dist("…")`. One of `0.4s` (or `12`, always that),
---`uniform(lo, hi)`, `normal(mean, sd)` (never below 0), `lognormal(median, sigma)`, `exp(mean)`,
---`gamma(shape, scale)`, `zipf(n, s)`; times count in seconds.
---@class stoke.Dist
local dist = {}

---One draw.
---@param rng stoke.Rng
---@return number
function dist:sample(rng) end

--| ## The global `stoke`

---@class stoke
---@field version string
---@field worker? integer this thread's number from 1 on; nil on the main thread
---@field workers? integer how many there are. What is sent should not depend on either
stoke = {}

---Seconds of `"30s"`, `"1.5m"`, `"250ms"`; a number is seconds already.
---@param text string|number
---@return number
function stoke.duration(text) end

---A distribution from its text.
---@param text string|number
---@return stoke.Dist
function stoke.dist(text) end

---JPEGs of random noise, each another one, as `image:url(rng)`: a data URL. Making the first takes some
---10 ms a megapixel, those after it 1 ms.
---@param width integer
---@param height integer
---@return stoke.NoiseImage
function stoke.noise_image(width, height) end

---A stream for what many users share, such as document number `n`: from the run's seed and `n` alone,
---so it draws the same on every thread, whoever asks first. Each call begins it anew.
---@param n integer
---@return stoke.Rng
function stoke.rng(n) end

---The text of a file (64 MiB at most) in the scenario's folder, or where a `path` parameter points
---that the user has set. Relative paths start in the scenario's folder.
---@param path string
---@return string? text, string? err
function stoke.read(path) end

---Its lines, without their ends and without a byte order mark. UTF-16 and compressed files are an error.
---@param path string
---@return string[]? lines, string? err
function stoke.lines(path) end

---Bytes in base64, for a picture in a message:
---`"data:image/png;base64," .. stoke.base64(stoke.read("cat.png"))`.
---@param bytes string
---@return string
function stoke.base64(bytes) end

---Bytes as hexadecimal digits, small letters.
---@param bytes string
---@return string
function stoke.hex(bytes) end

---The SHA-256 of bytes, as 32 bytes: `stoke.hex` or `stoke.base64` make text of them.
---@param bytes string
---@return string
function stoke.sha256(bytes) end

---HMAC with SHA-256, for requests that are signed: 32 bytes, which may be the key of the next one.
---`headers = { ["X-Signature"] = stoke.hex(stoke.hmac(secret, body)) }`
---@param key string
---@param bytes string
---@return string
function stoke.hmac(key, bytes) end

---Ask the run to end: nothing new is sent, what is in flight is drained. `os.exit` does the same.
---@param reason? string
function stoke.stop(reason) end

---Record a value of a declared metric, from any hook; see [Recording](#recording).
---@param name string
---@param value? number|boolean
---@param tags? table<string, string|number|boolean>
function stoke.record(name, value, tags) end

---Count a check as passed or failed, from any hook; see [Recording](#recording).
---@param name string
---@param ok any
---@return boolean ok
function stoke.check(name, ok) end

---JSON. Encoding is deterministic: keys sorted, no blanks, whole numbers without a point.
---@class stoke.json
---@field null lightuserdata null, both ways
stoke.json = {}

---Raises for what JSON cannot say: functions, NaN and infinity, lists with holes, tables with both
---list items and names, tables that hold themselves.
---@param value any
---@return string
function stoke.json.encode(value) end

---Lists are marked, so that an empty one is encoded as a list again.
---@param text string
---@return any value, string? err nil and the reason when it is not JSON
function stoke.json.decode(text) end

---Marks a table (a new one by default) as a list: it is `[]` when empty.
---@param list? table
---@return table
function stoke.json.array(list) end

---A JSON array that grows: `list:add(value)` encodes once, `list:text()` is its JSON, `#list` its length.
---A request's `messages` may be one. A long history is not encoded again with every turn that way.
---@param values? any[]
---@return stoke.JsonList
function stoke.json.list(values) end

---@class stoke.JsonList
local json_list = {}

---@param value any
function json_list:add(value) end

---@return string
function json_list:text() end

---@class stoke.NoiseImage
local noise_image = {}

---A data URL: `data:image/jpeg;base64,…`.
---@param rng stoke.Rng
---@return string
function noise_image:url(rng) end

---A video of so many frames as a data URL that vLLM reads: `data:video/jpeg;base64,…,…`. At most 2^27 pixels.
---@param rng stoke.Rng
---@param frames integer
---@return string
function noise_image:video(rng, frames) end

--| ## Tokenizers
--|
--| ```lua
--| params = { tokenizer = { type = "place", required = true } },
--| setup = function(run) return stoke.tokenizer.open(run.params.tokenizer) end,
--| request = function(ctx)
--|   return { prompt = ctx.data:random(ctx.rng, 512), prompt_tokens = 512, max_tokens = 128 }
--| end,
--| ```
--|
--| A model's own tokenizer, id for id. All threads share one; `setup` may return it, also within a
--| table.

---@class stoke.tokenizer
stoke.tokenizer = {}

---Open a `tokenizer.json` (or the folder it is in, or tiktoken's ranks) that the script may read, as
---`stoke.data.open` says; or by the name of a model, `"Qwen/Qwen3-8B"`, that the Hugging Face cache on
---this machine has (`HF_HOME`). Nothing is downloaded. Raises when it cannot be done, and says why.
---@param path string
---@return stoke.Tokenizer
function stoke.tokenizer.open(path) end

---@class stoke.Tokenizer
---@field path string
---@field vocab_size integer every id is below it
---@field special integer how many tokens are put around a prompt (BOS and the like)
---@field words integer how many words `random` draws from; 0: this vocabulary knows no blanks
local tokenizer = {}

---The ids of a text; `special`: with those that are put around it.
---@param text string
---@param special? boolean
---@return integer[]
function tokenizer:encode(text, special) end

---The text of ids; `leave_out`: without special tokens.
---@param ids integer[]
---@param leave_out? boolean
---@return string
function tokenizer:decode(ids, leave_out) end

---How many there are.
---@param text string
---@param special? boolean
---@return integer
function tokenizer:count(text, special) end

---A text of exactly `n` tokens: random words with blanks between them, behind `prefix` when there is
---one (whose tokens come on top). No blank begins or ends it, so that templates, which trim, change
---nothing. About 17 ns a token. nil when the vocabulary has no `words`.
---@param rng stoke.Rng
---@param n integer
---@param prefix? string
---@return string?
function tokenizer:random(rng, n, prefix) end

--| ## Data files
--|
--| ```lua
--| setup = function(run) return stoke.data.open(run.params.file) end,
--| request = function(ctx)
--|   local row = ctx.data:next()
--|   return row and { messages = row.turns[1].messages, max_tokens = row.output_len }
--| end,
--| ```
--|
--| Rows never live in a Lua heap: a file is read once when it is opened (checked and indexed, at
--| hundreds of megabytes a second), and a row again when it is asked for. So files may be larger
--| than memory. All threads share one index; `setup` may return an open file, also within a table.

---@class stoke.data
stoke.data = {}

---Open and check a file in the scenario's folder, or where a `path` parameter points that the user has
---set. What is wrong is an error with file and line, ten of them at once. A byte order mark, CRLF
---and blank lines are no matter; UTF-16, compressed files and lines that end in CR alone are refused;
---bytes that are not UTF-8 and lone surrogates become U+FFFD.
---@param path string
---@param options? stoke.DataOptions
---@return stoke.Data
function stoke.data.open(path, options) end

---@class stoke.DataOptions
---@field format? "lines"|"jsonl"|"json"|"csv"|"sharegpt"|"mooncake"|"azure"|"burstgpt"|"requests-out"|"openai-batch" guessed from name and content when it is not given, and said
---@field when_exhausted? "stop"|"cycle"|"random" what `next` does after the last row: give nil (the default), begin again, draw
---@field shuffle? boolean another order, of the run's seed
---@field skip_bad_rows? boolean leave bad rows out and count them, instead of refusing the file
---@field warmup_rows? integer rows at the end that only the warm-up gets; without, it takes rows from the end that the measurement may come to
---@field require? string|string[] members (columns) that every row must have. What the first row has of `prompt` (a text, and not an empty one) and `messages` is required anyway, but for an empty list
---@field cumulative? "tell"|"join"|"keep" rows whose messages begin with all that the row before says: a history written down turn by turn. `join`: only the last of them stays, which is the whole conversation; `keep`: each is a row of its own; `tell` (the default): the same, and it is said
---@field separator? string of CSV: a comma, a tab for `.tsv`
---@field block? integer tokens that a hash id of a mooncake trace stands for, 512 by default

---A data file. `#d` is the number of rows.
---@class stoke.Data
---@field path string
---@field format string
---@field skipped integer bad rows
---@field left_out integer rows with nothing to send: ShareGPT's without a question, failed requests of a trace
---@field replaced integer bytes and surrogates that became U+FFFD
local data = {}

---The row of this request or session: row 1 for number 1, whatever the number of threads, so that
---each row is given once. nil when there are no more. With `n`, a list of the next `n` rows, which
---must be as many in all of them. A second call in the same request or session is an error.
---@param n? integer
---@return stoke.Row? row a list of them with `n`
function data:next(n) end

---Row `i` of those that `next` gives (shuffled, and by `when_exhausted`): `d:at(ctx.id)` is `d:next()`.
---@param i integer
---@return stoke.Row?
function data:at(i) end

---Row `i` as it stands in the file (of a trace: by time).
---@param i integer
---@return stoke.Row
function data:row(i) end

---Any row.
---@param rng stoke.Rng
---@return stoke.Row
function data:sample(rng) end

---The line of the file where `d:at(i)` begins.
---@param i integer
---@return integer
function data:line(i) end

---A picture, sound or video that lies in the data file's folder, as a data URL
---(`data:image/png;base64,…`). Its first bytes say what it is; nothing else is read this way.
---@param path string relative to that folder
---@return string? url
---@return string? err
function data:media(path) end

---What such a file is (`image/png`), without reading more than its first bytes.
---@param path string relative to that folder
---@return string? type
---@return string? err
function data:media_type(path) end

---The bytes of a recording that lies there, their type (`audio/wav`) and, of WAV and FLAC files, how long it is.
---@param path string relative to that folder
---@return string? bytes
---@return string type or what is wrong
---@return number? seconds
function data:audio(path) end

---Of a trace: when row `i` was sent, in seconds after the first row.
---@param i integer
---@return number
function data:time(i) end

---A row keeps its own fields (texts, in CSV). All formats add these.
---@class stoke.Row
---@field prompt? string the first question; of a trace: `input_len` words, the same for the same `hash_ids`
---@field messages? table[] all of them, as OpenAI has them
---@field turns? stoke.Turn[]
---@field reference? string the recorded answer to the first turn
---@field output_len? integer tokens of the answer, when the data says so
---@field input_len? integer of a trace
---@field timestamp? number of a trace: seconds after its first row
---@field body? table|string of an OpenAI batch: the request's body byte for byte, to send as it is

---What is sent until the next answer.
---@class stoke.Turn
---@field messages table[] the new ones: the user's, a tool's, in the first turn the system's
---@field prompt? string the text of the user's
---@field answer? table the recorded answer's message
---@field reference? string its text

--| ## Modules
--|
--| `require` finds stoke's own modules, then files in the scenario's folder (`require "lib.tools"` is
--| `lib/tools.lua`), then in each folder of `STOKE_PATH`. A scenario that is a folder has an `init.lua`.
--|
--| | module | what |
--| | --- | --- |
--| | `stoke.prompts` | `list`: 46 questions of many kinds; `load(path)`: those of a file, one a line or JSON Lines with `prompt` |
--| | `stoke.search` | the search of `stoke find`, for a `control` that does more: `return require("stoke.search") { slos = { "ttft.p99 < 500ms" }, from = 1, most = 100 } (run)`; also `of = "max_concurrency"`, `factor`, `precision`, `window`, `time_limit`. It reports as `find` and returns nil and why when nothing holds |
--|
--| ## Errors
--|
--| Every way into Lua is protected. A script that doesn't load stops before the first request (exit
--| status 2): a missing file, a syntax error and an error of the main chunk each have words of their
--| own. An error while the run goes on fails that request or session (outcome `script`) and is shown with
--| file, line and traceback, once per place; more than `--max-script-errors` (10) stop the run.
--|
--| A hook that takes longer than 5 ms is counted and shown with its place: it delays other events, though
--| never its own timestamp. One that does not return for 5 s ends the run with what was measured
--| so far (the main chunk has a minute, `setup`, `teardown`, `summary` and `control` have ten).
--|
--| ## The box
--|
--| Scenarios are shared between teams, so they run boxed. There is the language, `string`, `table`,
--| `math`, `coroutine`, `bit`, `os.time/clock/date/difftime`, and `jit` without its inner parts. There is no
--| `io`, `debug`, `ffi`, `os.execute`, `os.getenv`, C module or bytecode; `load` takes text. Files are read
--| in the scenario's folder only, but for hidden ones; links out of it are not followed. `print` writes whole lines to
--| stderr. `os.exit` is a controlled stop. `--unsafe` opens the full libraries, and the results say so.
--|
--| Memory is capped at `--lua-memory` (512M) a thread: past it a script gets an error that it may catch.
--| Asking for as much again in one step ends the run with what was measured. Big inputs belong
--| outside the Lua heap. JSON lists and images may have as much again, and so may the bodies that the
--| branches of one session have on the wire.
--|
--| ## Speed
--|
--| An `on_response` that does nothing costs 0.2 µs; `request` with a prompt of 1 KB 1.2 µs, to the finished
--| body; one with six messages and a tool 6 µs (`make bench`). What is the same for all requests is
--| best made in the main chunk or in `setup`. Tables and closures in large numbers keep the collector
--| busy: it runs in small steps while the event loop is idle.
