std = "luajit"
max_line_length = 100
ignore = { "212/_.*", "213/_.*" }
exclude_files = { "build", "node_modules" }
files["tests/lua"] = { globals = { "stoke", "describe", "it", "show", "equal" } }
files["scenarios"] = { read_globals = { "stoke" } }
files["lua"] = { read_globals = { "stoke" } }
files["lua/types/*.d.lua"] = { ignore = { "." } }
