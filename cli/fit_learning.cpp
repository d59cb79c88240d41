#include "cli/fit_learning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/input_error.hpp"
#include "base/plain_text.hpp"
#include "sim/learning/published_learning.hpp"
#include "sim/learning/published_schedules.hpp"

namespace ukemi::cli {
namespace {

// Words on lines of at most 100 columns.
std::string wrapped(std::string_view text) {
    std::string lines = " ";
    std::size_t column = 1;
    while (!text.empty()) {
        const std::string_view word = text.substr(0, text.find(' '));
        if (column + 1 + word.size() > 100) {
            lines += "\n ";
            column = 1;
        }
        lines += ' ';
        lines += word;
        column += 1 + word.size();
        text.remove_prefix(std::min(word.size() + 1, text.size()));
    }
    return lines;
}

std::string_view name_of(sim::FitRole role) {
    switch (role) {
        case sim::FitRole::fitted: return "fitted";
        case sim::FitRole::predicted: return "predicted";
        case sim::FitRole::chosen_after_seeing: return "chosen after seeing";
    }
    return "";
}

void print_table(const sim::LearningTable& table) {
    fmt::print("\n{}\n{}\n", table.title, wrapped(table.note));
    fmt::print("{}\n", wrapped("naive: " + table.naive));
    fmt::print("  {:<24}{:>12}{:>12}{:>10}{:>12}  role\n", "", "published", "predicted", "error",
               "naive");
    for (const sim::LearningRow& row : table.rows) {
        const std::string naive =
            row.naive ? fmt::format("{:+.1f} %", 100 * (*row.naive / row.published - 1)) : "";
        fmt::print("  {:<24}{:>12.5g}{:>12.5g}{:>+8.1f} %{:>12}  {}\n", row.name, row.published,
                   row.predicted, 100 * row.error(), naive, name_of(row.role));
    }
    fmt::print("  rows not fitted: mean error {:.1f} %, worst {:.1f} %; naive mean {:.1f} %\n",
               100 * table.mean_error(), 100 * table.worst_error(), 100 * table.mean_naive_error());
}

}  // namespace

void print_published_learning(const std::filesystem::path& data) {
    using Tables = std::vector<sim::LearningTable>;
    struct Study {
        std::filesystem::path place;
        std::function<Tables(const std::filesystem::path&, std::vector<std::string>*)> tables;
    };
    const auto of_all = [](Tables (*tables)(const std::filesystem::path&)) {
        return [tables](const std::filesystem::path& place, std::vector<std::string>*) {
            return tables(place);
        };
    };
    const std::array studies{Study{data / "pollux/traces", sim::pollux_iterations},
                             Study{data / "pollux/traces", of_all(sim::ada_scale_iterations)},
                             Study{data / "zeus/summary_train.csv", sim::zeus_epochs},
                             Study{data / "pollux/traces", of_all(sim::step_compute_times)},
                             Study{data / "sia/traces", sim::pollux_iterations},
                             Study{data / "sia/traces", of_all(sim::step_compute_times)}};
    if (!std::filesystem::is_directory(data)) {
        throw InputError(data.string(), "", "expected a folder with pollux/, sia/ or zeus/");
    }
    std::vector<std::optional<Tables>> found;  // of the studies that are there
    std::set<std::string> left_out;            // and why
    for (const Study& study : studies) {
        std::vector<std::string> some;
        const bool is_there = std::filesystem::exists(study.place);
        found.push_back(is_there ? std::optional(study.tables(study.place, &some)) : std::nullopt);
        if (!is_there) some.push_back(fmt::format("{}: not there", study.place.string()));
        left_out.insert(some.begin(), some.end());
    }
    if (std::ranges::none_of(found, [](const auto& one) { return one && !one->empty(); })) {
        throw InputError(data.string(), "",
                         "expected recorded training in pollux/traces, sia/traces or "
                         "zeus/summary_train.csv of this folder, found none");
    }
    for (const std::string& one : left_out) fmt::print("left out: {}\n", one_line(one));
    for (const auto& tables : found) {
        if (!tables) continue;
        for (const sim::LearningTable& table : *tables) print_table(table);
    }
    print_table(sim::goyal_errors(sim::goyal_law()));
    for (const sim::LearningTable& table : sim::titan_x_times()) print_table(table);
}

}  // namespace ukemi::cli
