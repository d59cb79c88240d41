// codec_text.hpp — a codec and its level as everybody names them: "power_sgd:2", "fp16".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/config_reader.hpp"
#include "policies/plan.hpp"

namespace ukemi::policies {

struct CodecChoice {
    Codec codec = Codec::none;
    double level = 0;  // 0: the codec's usual one
    friend bool operator==(const CodecChoice&, const CodecChoice&) = default;
};

// Without the level where that is 0.
std::string codec_text(std::string_view name, double level);
std::string text_of(const CodecChoice& choice);
// InputError, at this path of the file, for what names no codec. Whether the codec has the level,
// its table says (kernels/codec.hpp), and whether a world has it, its Capabilities.
CodecChoice parse_codec(std::string_view text, std::string_view file, std::string_view path);

CodecChoice read_codec_choice(ConfigReader& parameters, std::string_view key,
                              std::string_view otherwise);
// Several, between commas or "/", which stands for a comma in lists of policies; at least one.
std::vector<CodecChoice> read_codec_choices(ConfigReader& parameters, std::string_view key,
                                            std::string_view otherwise);

}  // namespace ukemi::policies
