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

// With the GPUs on each machine (placement), or how many machines they are on (num_nodes).
void read_measured_steps(const std::filesystem::path& file, StepTimes& steps) {
    TableFile table(file);
    CsvScanner& csv = table.csv;
    const std::size_t placement = csv.column_if_present("placement");
    const bool placed = placement != CsvScanner::no_column;
    const std::size_t machines = placed ? placement : csv.column("num_nodes");
    const std::size_t gpus = placed ? placement : csv.column("num_replicas");
    const std::size_t local = csv.column("local_bsz");
    const std::size_t step = csv.column("step_time");
    const std::size_t sync = csv.column("sync_time");
    while (csv.next_row()) {
        const ApplicationStep one{number_in(csv, step), number_in(csv, sync)};
        const std::int64_t batch = csv.whole(local, 1, any, expected_whole);
        if (placed) {
            steps.add(placement_in(csv, placement), batch, one);
            continue;
        }
        steps.add_spread(static_cast<std::int32_t>(csv.whole(gpus, 1, any, expected_whole)),
                         static_cast<std::int32_t>(csv.whole(machines, 1, any, expected_whole)),
                         batch, one);
    }
}

// A row an epoch; those that are there keep what they have.
void read_measured_gradients(const std::filesystem::path& file,
                             std::vector<MeasuredGradient>& rows) {
    TableFile table(file);
    CsvScanner& csv = table.csv;
    const std::size_t norm = csv.column("grad_sqr");
    const std::size_t variance = csv.column("grad_var");
    for (std::size_t epoch = 0; csv.next_row(); ++epoch) {
        if (rows.size() <= epoch) rows.resize(epoch + 1);
        const MeasuredGradient one{number_in(csv, norm), number_in(csv, variance)};
        if (rows[epoch].squared_norm <= 0 && one.squared_norm > 0) rows[epoch] = one;
    }
}

}  // namespace

void Application::fail(std::string_view table, const std::string& row) const {
    throw InputError((std::filesystem::path(folder_) / table).string(), "",
                     fmt::format("expected a row of {} with {}, which this run asks for, found "
                                 "none",
                                 name, row));
}

std::size_t Application::type_called(std::string_view gpu_type) const {
    if (types_.size() == 1 && types_.front().gpu_type.empty()) return 0;
    const auto found = std::ranges::find(types_, gpu_type, &OnType::gpu_type);
    if (found == types_.end()) fail("apps.csv", fmt::format("gpu_type \"{}\"", gpu_type));
    return static_cast<std::size_t>(found - types_.begin());
}

ApplicationStep Application::step(std::size_t type, std::span<const std::int32_t> gpus_by_machine,
                                  std::int64_t batch_per_gpu) const {
    const StepTimes& steps = types_[type].steps;
    if (const ApplicationStep* const found = steps.find(gpus_by_machine, batch_per_gpu))
        return *found;
    if (interpolates_ && !steps.empty()) return steps.interpolated(gpus_by_machine, batch_per_gpu);
    const std::string& gpu_type = types_[type].gpu_type;
    fail("throughput.csv",
         fmt::format("{}placement p{} and local_bsz {}",
                     gpu_type.empty() ? "" : fmt::format("gpu_type {}, ", gpu_type),
                     fmt::join(gpus_by_machine, ""), batch_per_gpu));
}

MeasuredGradient Application::gradient(std::int64_t batch, std::int64_t epoch) const {
    const auto found = gradients_.find(batch);
    const auto row = static_cast<std::size_t>(epoch);
    if (found != gradients_.end() && row < found->second.size() &&
        found->second[row].squared_norm > 0) {
        return found->second[row];
    }
    for (std::int64_t other = epoch; interpolates_ && other >= 0; --other) {
        if (const auto between = between_batches(batch, other)) return *between;
    }
    fail("grad_stats.csv", fmt::format("batch_size {} and epoch {}", batch, epoch));
}

// On the straight line between the nearest batches that have the epoch, or what the only one has.
std::optional<MeasuredGradient> Application::between_batches(std::int64_t batch,
                                                             std::int64_t epoch) const {
    const auto row = static_cast<std::size_t>(epoch);
    const MeasuredGradient* below = nullptr;
    const MeasuredGradient* above = nullptr;
    double from = 0;
    double to = 0;
    for (const auto& [of, rows] : gradients_) {
        if (row >= rows.size() || rows[row].squared_norm <= 0) continue;
        (of <= batch ? below : above) = &rows[row];
        (of <= batch ? from : to) = static_cast<double>(of);
        if (above != nullptr) break;
    }
    if (below == nullptr && above == nullptr) return std::nullopt;
    if (below == nullptr || above == nullptr) return below != nullptr ? *below : *above;
    const double part = (static_cast<double>(batch) - from) / (to - from);
    return MeasuredGradient{
        below->squared_norm + part * (above->squared_norm - below->squared_norm),
        below->variance + part * (above->variance - below->variance)};
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
    if (found != iterations_.end()) return found->second;
    // The nearest batches that have the epoch: iterations fall as 1 / batch, nearly.
    if (interpolates_) {
        std::int64_t nearest = 0;
        double iterations = 0;
        for (const auto& [key, known] : iterations_) {
            if (key.second != epoch) continue;
            if (nearest == 0 || std::abs(key.first - batch) < std::abs(nearest - batch)) {
                nearest = key.first;
                iterations = known * static_cast<double>(key.first) / static_cast<double>(batch);
            }
        }
        if (nearest != 0) return iterations;
    }
    fail("iterations.csv", fmt::format("batch_size {} and epoch {}", batch, epoch));
}

ApplicationTables::ApplicationTables(const std::filesystem::path& folder, bool interpolates,
                                     std::span<const MeasuredFolder> measured) {
    const std::filesystem::path own = folder / "apps.csv";
    read_applications(std::filesystem::exists(own) ? own : folder / "../apps.csv");
    for (Application& application : applications_) {
        application.folder_ = folder.string();
        application.interpolates_ = interpolates;
    }
    read_steps(folder / "throughput.csv");
    read_gradients(folder / "grad_stats.csv");
    for (const MeasuredFolder& one : measured) {
        for (Application& application : applications_) read_measured(one, application);
    }
    for (Application& application : applications_) {
        for (Application::OnType& type : application.types_) {
            if (interpolates && !type.steps.empty()) type.steps.fit();
        }
    }
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

Application::OnType& ApplicationTables::on_type(Application& application, const CsvScanner& csv,
                                                std::size_t column) {
    const std::string_view gpu_type = column == CsvScanner::no_column ? "" : csv.field(column);
    const auto found =
        std::ranges::find(application.types_, gpu_type, &Application::OnType::gpu_type);
    if (found == application.types_.end()) csv.fail(column, "a gpu_type that apps.csv has");
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
    const std::size_t type = csv.column_if_present("gpu_type");
    const std::size_t slowdown = csv.column_if_present("slowdown");
    while (csv.next_row()) {
        const auto known = std::ranges::find(applications_, csv.field(name), &Application::name);
        Application& one = known == applications_.end() ? applications_.emplace_back() : *known;
        Application::OnType& on = one.types_.emplace_back();
        on.gpu_type = type == CsvScanner::no_column ? "" : csv.field(type);
        on.local_max = csv.whole(local_most, 1, any, expected_whole);
        const auto same =
            std::ranges::count(one.types_, on.gpu_type, &Application::OnType::gpu_type);
        if (same > 1) csv.fail(name, "one row for each application and gpu_type");
        one.name = csv.field(name);
        one.first_batch = csv.whole(first, 1, any, expected_whole);
        one.batch_max = csv.whole(most, 1, any, expected_whole);
        one.local_min = csv.whole(local_least, 1, any, expected_whole);
        one.epochs = csv.whole(epochs, 1, 1'000'000, expected_whole);
        if (slowdown != CsvScanner::no_column) one.slowdown = number_in(csv, slowdown);
        if (one.slowdown <= 0) csv.fail(slowdown, "a number above zero");
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
    const std::size_t type = csv.column_if_present("gpu_type");
    while (csv.next_row()) {
        on_type(at(csv, name), csv, type)
            .steps.add(placement_in(csv, placement), csv.whole(local, 1, any, expected_whole),
                       {number_in(csv, step), number_in(csv, sync)});
    }
}

void ApplicationTables::read_measured(const MeasuredFolder& measured, Application& application) {
    const std::filesystem::path own = measured.folder / application.name;
    if (!std::filesystem::is_directory(own)) return;
    const std::size_t at = application.type_called(measured.gpu_type);
    StepTimes& steps = application.types_[at].steps;
    for (const std::string name : {"placements", "scalability"}) {
        const std::string typed = name + "-" + measured.gpu_type;
        for (const std::string& file : {typed + ".csv", name + ".csv", name + ".csv.gz"}) {
            if (!std::filesystem::exists(own / file)) continue;
            read_measured_steps(own / file, steps);
            break;
        }
    }
    for (const auto& entry : std::filesystem::directory_iterator(own)) {
        const std::string name = entry.path().filename().string();
        std::int64_t batch = 0;
        const char* const digits = name.data() + std::string_view("validation-").size();
        if (!name.starts_with("validation-") || !name.ends_with(".csv")) continue;
        if (std::from_chars(digits, name.data() + name.size(), batch).ec != std::errc{}) continue;
        read_measured_gradients(entry.path(), application.gradients_[batch]);
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

std::map<std::string, std::vector<RecordedBatch>> read_recorded_batches(
    const std::filesystem::path& file) {
    TableFile table(file);
    CsvScanner& csv = table.csv;
    const std::size_t job = csv.column("job");
    const std::size_t slice = csv.column("slice");
    const std::size_t local = csv.column("local_bsz");
    const std::size_t accumulated = csv.column("accumulation");
    std::map<std::string, std::vector<RecordedBatch>> all;
    while (csv.next_row()) {
        std::vector<RecordedBatch>& batches = all[std::string(csv.field(job))];
        const std::int64_t from = batches.empty() ? 0 : batches.back().slice + 1;
        const std::int64_t to = batches.empty() ? 0 : any;
        batches.push_back({csv.whole(slice, from, to, "0 first, then rising slices of a job"),
                           csv.whole(local, 1, any, expected_whole),
                           csv.whole(accumulated, 0, any, expected_whole)});
    }
    return all;
}

}  // namespace ukemi::traces
