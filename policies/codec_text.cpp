#include "policies/codec_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/plain_text.hpp"

namespace ukemi {
namespace {

CodecChoice choice_of(const ConfigReader& parameters, std::string_view key, std::string_view text) {
    const std::size_t colon = text.find(':');
    const std::string_view name = text.substr(0, colon);
    const auto found = std::ranges::find(codec_names(), name);
    if (found == codec_names().end()) {
        parameters.fail(
            key, fmt::format("no codec {}{}", quoted(name), did_you_mean(name, codec_names())));
    }
    CodecChoice choice{static_cast<Codec>(found - codec_names().begin()), 0};
    if (colon == std::string_view::npos) return choice;
    const std::string_view level = text.substr(colon + 1);
    const char* const end = level.data() + level.size();
    const auto [stopped, error] = std::from_chars(level.data(), end, choice.level);
    if (error != std::errc{} || stopped != end || !(choice.level >= 0 && choice.level <= 1e9)) {
        parameters.fail(
            key, fmt::format("expected a level after \"{}:\", found {}", name, quoted(level)));
    }
    return choice;
}

}  // namespace

CodecChoice read_codec_choice(ConfigReader& parameters, std::string_view key,
                              std::string_view otherwise) {
    return choice_of(parameters, key, parameters.text(key, std::string(otherwise)));
}

std::vector<CodecChoice> read_codec_choices(ConfigReader& parameters, std::string_view key,
                                            std::string_view otherwise) {
    std::string text = parameters.text(key, std::string(otherwise));
    std::ranges::replace(text, '/', ',');
    std::vector<CodecChoice> choices;
    constexpr std::size_t most = 64;
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find(',', begin), text.size());
        choices.push_back(
            choice_of(parameters, key, std::string_view(text).substr(begin, end - begin)));
        if (choices.size() > most) parameters.fail(key, "expected at most 64 codecs");
        begin = end + 1;
    }
    return choices;
}

}  // namespace ukemi
