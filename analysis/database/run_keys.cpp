#include "analysis/database/run_keys.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <nlohmann/json.hpp>

#include "analysis/build_info.hpp"
#include "base/input_error.hpp"
#include "base/read_file.hpp"
#include "base/text_digest.hpp"
#include "records/varied_columns.hpp"

namespace ukemi::analysis {

namespace fs = std::filesystem;

RunKeys::RunKeys(std::span<const scenarios::ExperimentCase> cases,
                 const scenarios::ExperimentSetup& setup)
    : build_(build_description()) {
    for (const scenarios::ExperimentCase& one : cases) {
        cases_.push_back(digest_of(*one.scenario, setup.starts.text));
    }
    const std::vector<std::string> labels = scenarios::market_labels(setup);
    for (std::size_t i = 0; i < labels.size(); ++i) {
        std::uint64_t digest = text_digest(labels[i]);
        if (setup.join_zones) {
            for (const fs::path& file : setup.traces) {
                digest = text_digest(fmt::format("\n{:x}", content_of(file, true)), digest);
            }
        } else {
            digest = text_digest(fmt::format("\n{:x}", content_of(setup.traces[i], true)), digest);
        }
        traces_.push_back(digest);
    }
    if (traces_.empty()) traces_.push_back(text_digest_begin);
}

// 0 for a file that cannot be read and need not be: a trace of the command line takes its place.
std::uint64_t RunKeys::content_of(const fs::path& file, bool needed) {
    const auto known = contents_.find(file);
    if (known != contents_.end()) return known->second;
    std::uint64_t digest = 0;
    try {
        digest = text_digest(read_file(file));
    } catch (const InputError&) {
        if (needed) throw;
    }
    return contents_[file] = digest;
}

std::uint64_t RunKeys::digest_of(const scenarios::Scenario& scenario, const std::string& starts) {
    auto resolved = nlohmann::json::parse(scenario.resolved);
    for (const char* key : {"$schema", "description", "replay", "starts"}) {
        resolved.erase(key);
    }
    std::uint64_t digest = text_digest(resolved.dump());
    const auto add = [&](const std::string& text) { digest = text_digest("\n" + text, digest); };
    add(records::variant_key(scenario.varied));
    add(starts);
    add(fmt::format("{:x}", scenario.files_digest));
    for (const scenarios::ZoneSource& zone : scenario.market.zones) {
        for (const fs::path& file : {zone.availability, zone.price}) {
            if (!file.empty()) add(fmt::format("{:x}", content_of(file, false)));
        }
    }
    return digest;
}

std::int64_t RunKeys::key_of(const scenarios::PlannedRun& run) const {
    const std::string text =
        fmt::format("{:x}\n{:x}\n{}\n{}\n{}\n{}", cases_[run.case_number], traces_[run.trace],
                    build_, run.policies->label(), run.window.start.raw(), run.seed);
    return std::bit_cast<std::int64_t>(text_digest(text));
}

std::uint64_t RunKeys::digest() const {
    return text_digest(
        fmt::format("{:x}\n{:x}\n{}", fmt::join(cases_, " "), fmt::join(traces_, " "), build_));
}

}  // namespace ukemi::analysis
