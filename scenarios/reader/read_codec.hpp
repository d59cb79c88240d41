// read_codec.hpp — a codec with its level, in whatever section it stands: "power_sgd:4", "fp16".
#pragma once

#include "policies/codec_text.hpp"

namespace ukemi::scenarios {

// At "codec", "none" if there is none. A level that the codec does not have is a complaint, and so
// are the forms of old: an object, or a level in a key of its own.
policies::CodecChoice read_codec(ConfigReader& section);
// At "error_feedback": whether what did not arrive is sent later. Refused of a codec that may be
// off by more than the gradient itself.
bool read_error_feedback(ConfigReader& section, policies::Codec codec, bool otherwise);

}  // namespace ukemi::scenarios
