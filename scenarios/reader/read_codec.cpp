// read_codec.cpp — "codec" and "error_feedback", and what was written for them once.
#include "scenarios/reader/read_codec.hpp"

#include <fmt/format.h>

#include "base/old_forms.hpp"
#include "kernels/codec.hpp"

namespace ukemi::scenarios {

policies::CodecChoice read_codec(ConfigReader& section) {
    if (section.is_object("codec")) {
        section.fail("codec",
                     "is no longer read as an object: write \"codec\": \"top_k:0.01\" (the level "
                     "after a colon), and \"error_feedback\" beside it");
    }
    for (const std::string_view key : {"level", "codec_level"}) {
        refuse_old_key(section, key, "it behind the codec's name, as in \"codec\": \"top_k:0.01\"");
    }
    const policies::CodecChoice choice = policies::read_codec_choice(section, "codec", "none");
    const std::string refusal = kernels::codec_refusal(choice.codec, choice.level);
    if (!refusal.empty()) section.fail("codec", refusal);
    return choice;
}

bool read_error_feedback(ConfigReader& section, policies::Codec codec, bool otherwise) {
    const bool contracts = kernels::entry_of(codec).contracts;
    // What was not said is for the codecs that policies may turn to.
    if (!section.has("error_feedback") && !contracts) return otherwise;
    const bool kept = section.flag("error_feedback", otherwise);
    if (kept && !contracts) {
        section.fail("error_feedback",
                     fmt::format("{} may be off by more than the gradient itself: its errors "
                                 "would grow, not fade",
                                 kernels::entry_of(codec).name));
    }
    return kept;
}

}  // namespace ukemi::scenarios
