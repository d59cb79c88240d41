// published_rows.cpp — printing, keeping and writing rows.
#include "bench/published_rows.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <utility>

#include "base/csv_writer.hpp"
#include "base/read_file.hpp"

namespace published {

void Tables::add(const std::string& title, const std::string& table, const std::vector<Row>& rows,
                 bool each, const std::string& naive) {
    fmt::print("\n{}\n", title);
    if (!naive.empty()) fmt::print("  naive: {}\n", naive);
    if (each) {
        fmt::print("  {:<44}{:>12}{:>12}{:>11}{:>11}  role\n", "", "published", "simulated",
                   "error  ", "naive  ");
    }
    std::map<std::string, int> counts;
    for (const Row& row : rows) {
        ++counts[row.role];
        kept_.push_back({table, row});
        if (!each) continue;
        const std::string guess =
            row.naive ? fmt::format("{:+.1f} %", 100 * (*row.naive / row.published - 1)) : "";
        fmt::print("  {:<44}{:>12.5g}{:>12.5g}{:>+9.1f} %{:>11}  {}\n", row.name, row.published,
                   row.simulated, 100 * row.error(), guess, row.role);
    }
    for (const auto& [role, count] : counts) {
        const auto guessed = mean_naive_error(rows, role);
        fmt::print("  mean error of {} rows ({}): {:.1f} %{}\n", count, role,
                   100 * mean_error(rows, role),
                   guessed ? fmt::format("; naive {:.1f} %", 100 * *guessed) : "");
    }
}

void Tables::write_csv(const std::filesystem::path& file) const {
    ukemi::CsvWriter csv(
        {"table", "row", "published", "simulated", "error", "role", "naive", "naive_error"});
    for (const Kept& one : kept_) {
        csv.add(one.table).add(one.row.name).add(one.row.published).add(one.row.simulated);
        const double guess = one.row.naive.value_or(std::numeric_limits<double>::quiet_NaN());
        csv.add(one.row.error()).add(one.row.role).add(guess);
        csv.add(guess / one.row.published - 1).end_row();
    }
    ukemi::write_file_atomically(file, csv.text());
    fmt::print("\n{} rows written to {}\n", kept_.size(), file.string());
}

double mean_error(const std::vector<Row>& rows, std::string_view role) {
    double sum = 0;
    int count = 0;
    for (const Row& row : rows) {
        if (row.role != role) continue;
        sum += std::abs(row.error());
        ++count;
    }
    return count == 0 ? 0 : sum / count;
}

std::optional<double> mean_naive_error(const std::vector<Row>& rows, std::string_view role) {
    double sum = 0;
    int count = 0;
    for (const Row& row : rows) {
        if (row.role != role) continue;
        if (!row.naive) return std::nullopt;
        sum += std::abs(*row.naive / row.published - 1);
        ++count;
    }
    if (count == 0) return std::nullopt;
    return sum / count;
}

std::filesystem::path shared(const std::filesystem::path& name) {
    const char* given = std::getenv("UKEMI_DATA");
    const std::filesystem::path data =
        given != nullptr ? std::filesystem::path(given)
                         : std::filesystem::path(UKEMI_SOURCE_DIR) / "../shared/data";
    return data / name;
}

Options read_options(int argc, char** argv) {
    Options options;
    for (int i = 1; i < argc; ++i) {
        const std::string_view word = argv[i];
        if (word == "all") {
            options.all = true;
        } else if (word == "--csv" && i + 1 < argc) {
            options.csv = argv[++i];
        } else {
            fmt::print(stderr, "usage: {} [all] [--csv FILE]\n", argv[0]);
            std::exit(2);
        }
    }
    return options;
}

}  // namespace published
