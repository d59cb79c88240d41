// codec_text.cpp — "name" or "name:level".
#include "policies/codec_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/input_error.hpp"
#include "base/plain_text.hpp"

namespace ukemi::policies {
namespace {

std::string path_at(const ConfigReader& config, std::string_view key) {
    return fmt::format("{}/{}", config.path(), key);
}

}  // namespace

std::string codec_text(std::string_view name, double level) {
    return level > 0 ? fmt::format("{}:{}", name, level) : std::string(name);
}

std::string text_of(const CodecChoice& choice) {
    return codec_text(codec_names()[static_cast<std::size_t>(choice.codec)], choice.level);
}

CodecChoice parse_codec(std::string_view text, std::string_view file, std::string_view path) {
    const std::size_t colon = text.find(':');
    const std::string_view name = text.substr(0, colon);
    const auto found = std::ranges::find(codec_names(), name);
    if (found == codec_names().end()) {
        throw InputError(
            file, path,
            fmt::format("expected one of {}, found {}{}", fmt::join(codec_names(), ", "),
                        quoted(name), did_you_mean(name, codec_names())));
    }
    CodecChoice choice{static_cast<Codec>(found - codec_names().begin()), 0};
    if (colon == std::string_view::npos) return choice;
    const std::string_view level = text.substr(colon + 1);
    const char* const end = level.data() + level.size();
    const auto [stopped, error] = std::from_chars(level.data(), end, choice.level);
    if (error != std::errc{} || stopped != end || !(choice.level > 0 && choice.level <= 1e9)) {
        throw InputError(
            file, path,
            fmt::format("expected a level above 0 after \"{}:\", found {}", name, quoted(level)));
    }
    return choice;
}

CodecChoice read_codec_choice(ConfigReader& parameters, std::string_view key,
                              std::string_view otherwise) {
    return parse_codec(parameters.text(key, otherwise), parameters.file(),
                       path_at(parameters, key));
}

std::vector<CodecChoice> read_codec_choices(ConfigReader& parameters, std::string_view key,
                                            std::string_view otherwise) {
    std::string text = parameters.text(key, otherwise);
    std::ranges::replace(text, '/', ',');
    std::vector<CodecChoice> choices;
    constexpr std::size_t most = 64;
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find(',', begin), text.size());
        choices.push_back(parse_codec(std::string_view(text).substr(begin, end - begin),
                                      parameters.file(), path_at(parameters, key)));
        if (choices.size() > most) parameters.fail(key, "expected at most 64 codecs");
        begin = end + 1;
    }
    return choices;
}

}  // namespace ukemi::policies
