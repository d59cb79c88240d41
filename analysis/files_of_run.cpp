#include "analysis/files_of_run.hpp"

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "base/input_error.hpp"
#include "base/input_files.hpp"
#include "base/plain_text.hpp"

namespace ukemi::analysis {

nlohmann::json files_of_run() {
    nlohmann::json files = nlohmann::json::object();
    for (const auto& [file, digest] : InputFiles::contents()) {
        files[one_line(file)] = fmt::format("{:016x}", digest);
    }
    return files;
}

void expect_files(const nlohmann::json& about, const std::filesystem::path& run_json) {
    if (!about.contains("files")) return;
    for (const auto& [file, written] : about.at("files").items()) {
        const auto& text = written.get_ref<const std::string&>();
        std::uint64_t digest = 0;
        const char* end = text.data() + text.size();
        const auto [stopped, error] = std::from_chars(text.data(), end, digest, 16);
        if (error != std::errc() || stopped != end) {
            throw InputError(run_json.string(), "",
                             fmt::format("damaged: expected a digest of {}, found {}",
                                         ukemi::quoted(file), ukemi::quoted(text)));
        }
        InputFiles::expect(file, digest);
    }
}

std::vector<std::string> warnings_of_changed_files() {
    std::vector<std::string> warnings;
    for (const std::string& file : InputFiles::take_changed()) {
        warnings.push_back(fmt::format(
            "{} has changed since those results were made: these are of what it holds now",
            one_line(file)));
    }
    return warnings;
}

}  // namespace ukemi::analysis
