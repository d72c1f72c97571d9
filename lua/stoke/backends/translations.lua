-- The same, into English.
local copy = {}
for field, value in pairs(require "stoke.backends.transcriptions") do copy[field] = value end
copy.path = "/v1/audio/translations"
return copy
