#include "analysis/requests/expand.hpp"

#include <fmt/format.h>
#include <glob.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "base/input_error.hpp"
#include "base/plain_text.hpp"

namespace ukemi::analysis {

std::vector<std::filesystem::path> expand_glob(const std::string& pattern, std::string_view where) {
    // A file of that very name, should it hold brackets or stars.
    if (std::filesystem::is_regular_file(pattern)) return {pattern};
    glob_t found{};
    const int status = glob(pattern.c_str(), GLOB_ERR | GLOB_TILDE, nullptr, &found);
    std::vector<std::filesystem::path> files;
    for (std::size_t index = 0; index < found.gl_pathc; ++index) {
        files.emplace_back(found.gl_pathv[index]);
    }
    globfree(&found);
    if (status != 0 || files.empty()) {
        throw InputError(where, "", fmt::format("no file matches {}", ukemi::quoted(pattern)));
    }
    std::ranges::sort(files);
    return files;
}

namespace {

std::uint64_t parse_seed(std::string_view text, std::string_view where) {
    std::int64_t seed = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
    if (error != std::errc{} || end != text.data() + text.size() || seed < 0) {
        throw InputError(
            where, "",
            fmt::format("expected seeds such as \"1..10\" or \"1,2,7\", found {}", quoted(text)));
    }
    return static_cast<std::uint64_t>(seed);
}

}  // namespace

std::vector<std::uint64_t> parse_seeds(const std::string& text, std::string_view where) {
    constexpr std::uint64_t seeds_max = 1'000'000;
    std::vector<std::uint64_t> seeds;
    std::set<std::uint64_t> seen;
    std::string_view rest = text;
    while (true) {
        const std::string_view part = rest.substr(0, rest.find(','));
        const std::size_t dots = part.find("..");
        const std::uint64_t first = parse_seed(part.substr(0, dots), where);
        const std::uint64_t last =
            dots == std::string_view::npos ? first : parse_seed(part.substr(dots + 2), where);
        if (last < first) {
            throw InputError(where, "",
                             fmt::format("expected a range that goes up, found {}", quoted(part)));
        }
        if (last - first >= seeds_max - seeds.size()) {
            throw InputError(where, "",
                             fmt::format("expected at most {} seeds, found more in {}", seeds_max,
                                         quoted(part)));
        }
        for (std::uint64_t seed = first; seed <= last; ++seed) {
            if (!seen.insert(seed).second) {
                throw InputError(where, "", fmt::format("seed {} stands there twice", seed));
            }
            seeds.push_back(seed);
        }
        if (part.size() == rest.size()) return seeds;
        rest.remove_prefix(part.size() + 1);
    }
}

}  // namespace ukemi::analysis
