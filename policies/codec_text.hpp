// codec_text.hpp — a codec and its level as policies' parameters name them: "power_sgd:2", "fp16".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/config_reader.hpp"
#include "policies/plan.hpp"

namespace ukemi {

struct CodecChoice {
    Codec codec = Codec::none;
    double level = 0;  // 0: the codec's usual one
    friend bool operator==(const CodecChoice&, const CodecChoice&) = default;
};

// Reads the parameter `key`; InputError by path for what names no codec. Whether a world has the
// codec with this level, its Capabilities say.
CodecChoice read_codec_choice(ConfigReader& parameters, std::string_view key,
                              std::string_view otherwise);
// Several, between commas or "/", which stands for a comma in lists of policies; at least one.
std::vector<CodecChoice> read_codec_choices(ConfigReader& parameters, std::string_view key,
                                            std::string_view otherwise);

}  // namespace ukemi
