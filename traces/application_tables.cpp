// application_tables.cpp — reads tables of applications and looks rows up.
#include "traces/application_tables.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/read_file.hpp"
#include "traces/csv_scanner.hpp"

namespace ukemi::traces {

namespace {

constexpr std::int64_t any = std::numeric_limits<std::int32_t>::max();
constexpr std::string_view expected_whole = "a whole number";

struct TableFile {
    explicit TableFile(const std::filesystem::path& file)
        : text(read_file(file)), csv(text, file.string()) {
        csv.read_header();
    }
    std::string text;
    CsvScanner csv;
};

// Correctly rounded, as recorded results need it.
double number_in(const CsvScanner& csv, std::size_t column) {
    const std::string_view text = csv.field(column);
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) {
        csv.fail(column, "a number");
    }
    return value;
}

// The smallest of all rotations: which of a ring's machines comes first changes nothing.
std::string rotated(std::span<const std::int32_t> gpus_by_machine) {
    std::vector<std::int32_t> turned(gpus_by_machine.begin(), gpus_by_machine.end());
    std::vector<std::int32_t> least = turned;
    for (std::size_t i = 1; i < turned.size(); ++i) {
        std::ranges::rotate(turned, turned.begin() + 1);
        least = std::min(least, turned);
    }
    return fmt::format("{}", fmt::join(least, " "));
}

// "p442": one digit a machine.
std::vector<std::int32_t> placement_in(const CsvScanner& csv, std::size_t column) {
    const std::string_view text = csv.field(column);
    std::vector<std::int32_t> gpus;
    for (const char digit : text.substr(text.starts_with('p') ? 1 : 0)) {
        if (digit < '1' || digit > '9') gpus.clear();
        if (digit < '1' || digit > '9') break;
        gpus.push_back(digit - '0');
    }
    if (gpus.empty()) csv.fail(column, "a placement such as p442, a digit for each machine");
    return gpus;
}

}  // namespace

void Application::fail(std::string_view table, const std::string& row) const {
    throw InputError((std::filesystem::path(folder_) / table).string(), "",
                     fmt::format("expected a row of {} with {}, which this run asks for, found "
                                 "none",
                                 name, row));
}

const ApplicationStep& Application::step(std::span<const std::int32_t> gpus_by_machine,
                                         std::int64_t batch_per_gpu) const {
    const auto found = steps_.find({rotated(gpus_by_machine), batch_per_gpu});
    if (found == steps_.end()) {
        fail("throughput.csv", fmt::format("placement p{} and local_bsz {}",
                                           fmt::join(gpus_by_machine, ""), batch_per_gpu));
    }
    return found->second;
}

std::span<const MeasuredGradient> Application::gradients(std::int64_t batch) const {
    const auto found = gradients_.find(batch);
    if (found == gradients_.end()) fail("grad_stats.csv", fmt::format("batch_size {}", batch));
    return found->second;
}

void Application::no_gradient(std::int64_t batch, std::int64_t epoch) const {
    fail("grad_stats.csv", fmt::format("batch_size {} and epoch {}", batch, epoch));
}

double Application::progress(std::int64_t epoch) const {
    if (epoch == 0) return 0;
    const auto at = static_cast<std::size_t>(epoch);
    if (at >= progress_.size() || std::isnan(progress_[at])) {
        fail("progress.csv", fmt::format("epoch {}", epoch));
    }
    return progress_[at];
}

double Application::iterations(std::int64_t batch, std::int64_t epoch) const {
    const auto found = iterations_.find({batch, epoch});
    if (found == iterations_.end()) {
        fail("iterations.csv", fmt::format("batch_size {} and epoch {}", batch, epoch));
    }
    return found->second;
}

ApplicationTables::ApplicationTables(const std::filesystem::path& folder) {
    read_applications(folder / "apps.csv");
    for (Application& application : applications_) application.folder_ = folder.string();
    read_steps(folder / "throughput.csv");
    read_gradients(folder / "grad_stats.csv");
    read_progress(folder / "progress.csv");
    if (std::filesystem::exists(folder / "iterations.csv")) {
        read_iterations(folder / "iterations.csv");
    }
}

const Application* ApplicationTables::find(std::string_view name) const {
    const auto found = std::ranges::find(applications_, name, &Application::name);
    return found == applications_.end() ? nullptr : &*found;
}

std::string ApplicationTables::names() const {
    std::string all;
    for (const Application& one : applications_) {
        all += fmt::format("{}{}", all.empty() ? "" : ", ", one.name);
    }
    return all;
}

Application& ApplicationTables::at(const CsvScanner& csv, std::size_t column) {
    const auto found = std::ranges::find(applications_, csv.field(column), &Application::name);
    if (found == applications_.end()) csv.fail(column, "one of the applications in apps.csv");
    return *found;
}

void ApplicationTables::read_applications(const std::filesystem::path& file) {
    TableFile table(file);
    CsvScanner& csv = table.csv;
    const std::size_t name = csv.column("app");
    const std::size_t first = csv.column("init_batch");
    const std::size_t most = csv.column("max_batch");
    const std::size_t local_least = csv.column("min_local_bsz");
    const std::size_t local_most = csv.column("max_local_bsz");
    const std::size_t epochs = csv.column("max_epochs");
    const std::size_t restart = csv.column("restart_s");
    const std::size_t gpus = csv.column_if_present("optimus_max_gpus");
    while (csv.next_row()) {
        Application& one = applications_.emplace_back();
        one.name = csv.field(name);
        one.first_batch = csv.whole(first, 1, any, expected_whole);
        one.batch_max = csv.whole(most, 1, any, expected_whole);
        one.local_min = csv.whole(local_least, 1, any, expected_whole);
        one.local_max = csv.whole(local_most, 1, any, expected_whole);
        one.epochs = csv.whole(epochs, 1, 1'000'000, expected_whole);
        one.restart = csv.seconds(restart);
        if (gpus != CsvScanner::no_column && csv.field(gpus) != "batch//min_local") {
            one.gpus_max = static_cast<std::int32_t>(
                csv.whole(gpus, 1, 1'000'000, "a number of GPUs, or batch//min_local"));
        }
    }
}

void ApplicationTables::read_steps(const std::filesystem::path& file) {
    TableFile table(file);
    CsvScanner& csv = table.csv;
    const std::size_t name = csv.column("app");
    const std::size_t placement = csv.column("placement");
    const std::size_t local = csv.column("local_bsz");
    const std::size_t step = csv.column("step_time_s");
    const std::size_t sync = csv.column("sync_time_s");
    while (csv.next_row()) {
        const std::string key = rotated(placement_in(csv, placement));
        at(csv, name).steps_[{key, csv.whole(local, 1, any, expected_whole)}] = {
            number_in(csv, step), number_in(csv, sync)};
    }
}

void ApplicationTables::read_gradients(const std::filesystem::path& file) {
    TableFile table(file);
    CsvScanner& csv = table.csv;
    const std::size_t name = csv.column("app");
    const std::size_t batch = csv.column("batch_size");
    const std::size_t epoch = csv.column("epoch");
    const std::size_t norm = csv.column("grad_sqr");
    const std::size_t variance = csv.column("grad_var");
    while (csv.next_row()) {
        auto& rows = at(csv, name).gradients_[csv.whole(batch, 1, any, expected_whole)];
        const auto row = static_cast<std::size_t>(csv.whole(epoch, 0, 1'000'000, expected_whole));
        if (rows.size() <= row) rows.resize(row + 1);
        rows[row] = {number_in(csv, norm), number_in(csv, variance)};
        if (rows[row].squared_norm <= 0) csv.fail(norm, "a number above zero");
    }
}

void ApplicationTables::read_progress(const std::filesystem::path& file) {
    TableFile table(file);
    CsvScanner& csv = table.csv;
    const std::size_t name = csv.column("app");
    const std::size_t epoch = csv.column("epoch");
    const std::size_t progress = csv.column("progress");
    while (csv.next_row()) {
        std::vector<double>& rows = at(csv, name).progress_;
        const auto row = static_cast<std::size_t>(csv.whole(epoch, 0, 1'000'000, expected_whole));
        if (rows.size() <= row) rows.resize(row + 1, std::numeric_limits<double>::quiet_NaN());
        rows[row] = number_in(csv, progress);
    }
}

void ApplicationTables::read_iterations(const std::filesystem::path& file) {
    TableFile table(file);
    CsvScanner& csv = table.csv;
    const std::size_t name = csv.column("app");
    const std::size_t batch = csv.column("batch_size");
    const std::size_t epoch = csv.column("epoch");
    const std::size_t iterations = csv.column("iterations");
    while (csv.next_row()) {
        at(csv, name).iterations_[{csv.whole(batch, 1, any, expected_whole),
                                   csv.whole(epoch, 0, 1'000'000, expected_whole)}] =
            number_in(csv, iterations);
    }
}

}  // namespace ukemi::traces
