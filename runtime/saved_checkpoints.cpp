#include "runtime/saved_checkpoints.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/input_error.hpp"
#include "kernels/checkpoint_file.hpp"

namespace ukemi::runtime {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view name_begin = "checkpoint-";

// An empty folder, as bare names of files have it, is the present one.
std::vector<fs::path> newest_first(const fs::path& folder) {
    std::vector<fs::path> files;
    try {
        for (const auto& entry : fs::directory_iterator(folder.empty() ? "." : folder)) {
            const std::string name = entry.path().filename().string();
            if (name.starts_with(name_begin) && entry.path().extension() == ".ukemi") {
                files.push_back(folder / entry.path().filename());
            }
        }
    } catch (const fs::filesystem_error& error) {
        throw InputError(
            folder.empty() ? "." : folder.string(), "",
            fmt::format("its checkpoints cannot be listed: {}", error.code().message()));
    }
    std::ranges::sort(files, [](const fs::path& left, const fs::path& right) {
        return left.filename().string() > right.filename().string();
    });
    return files;
}

// Nothing where the name is not as the Crew makes it.
std::optional<std::int64_t> step_in_name(const fs::path& file) {
    const std::string digits = file.stem().string().substr(name_begin.size());
    std::int64_t step = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), step);
    if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
    return step;
}

}  // namespace

std::string WholeCheckpoint::remark() const {
    if (left.empty()) return {};
    std::string text;
    for (const std::string& each : left) text += each + "; ";
    text +=
        fmt::format("{} is used in place of {}", file.string(), left.size() == 1 ? "it" : "them");
    if (steps_lost > 0) {
        text += fmt::format(", and {} step{} made again", steps_lost,
                            steps_lost == 1 ? " is" : "s are");
    }
    return text;
}

std::vector<std::int64_t> steps_saved_in(const fs::path& folder) {
    std::vector<std::int64_t> all;
    for (const fs::path& file : newest_first(folder)) {
        if (const auto steps = step_in_name(file)) all.push_back(*steps);
    }
    return all;
}

void expect_no_checkpoints(const fs::path& folder) {
    std::error_code ignored;
    if (!fs::is_directory(folder, ignored) || steps_saved_in(folder).empty()) return;
    throw InputError(folder.string(), "",
                     fmt::format("has checkpoints of a run: --resume {} goes on with it, --force "
                                 "begins anew and removes them",
                                 folder.string()));
}

void remove_checkpoints(const fs::path& folder, const std::vector<std::int64_t>& but_for) {
    std::error_code ignored;
    if (!fs::is_directory(folder, ignored)) return;
    for (const fs::path& file : newest_first(folder)) {
        const auto steps = step_in_name(file);
        if (!steps || std::ranges::find(but_for, *steps) != but_for.end()) continue;
        fs::remove(file, ignored);
    }
}

std::optional<WholeCheckpoint> newest_whole_checkpoint(const fs::path& folder,
                                                       const std::vector<std::int64_t>* known) {
    const std::vector<fs::path> files = newest_first(folder);
    if (files.empty()) return std::nullopt;
    const auto is_known = [known](std::int64_t steps) {
        return known == nullptr || std::ranges::find(*known, steps) != known->end();
    };
    std::vector<std::string> left;
    std::optional<std::int64_t> most;  // steps of the newest that is damaged
    for (const fs::path& file : files) {
        const auto steps = step_in_name(file);
        try {
            // What a name says is not there need not be read.
            const bool may_be = !steps || is_known(*steps);
            kernels::Checkpoint saved;
            if (may_be) saved = kernels::read_checkpoint(file);
            if (may_be && is_known(saved.step)) {
                WholeCheckpoint whole{file,           saved.job,       saved.step,
                                      saved.position, std::move(left), 0};
                if (most) whole.steps_lost = std::max<std::int64_t>(*most - saved.step, 0);
                return whole;
            }
            left.push_back(
                fmt::format("{}: the account.json beside it does not know it", file.string()));
        } catch (const InputError& error) {
            left.emplace_back(error.what());
            if (!most) most = steps;
        }
    }
    throw InputError(
        folder.string(), "",
        fmt::format("no checkpoint {} is whole; the newest: {}",
                    known == nullptr ? "in it" : "that its account.json knows", left.front()));
}

}  // namespace ukemi::runtime
