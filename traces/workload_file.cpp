// workload_file.cpp — reads the forms of recorded workloads.
#include "traces/workload_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <initializer_list>
#include <limits>
#include <set>
#include <string>
#include <system_error>

#include "base/read_file.hpp"
#include "traces/csv_scanner.hpp"
#include "traces/timestamp.hpp"

namespace ukemi::traces {

namespace {

constexpr std::int32_t gpus_most = 1'000'000;
constexpr std::string_view expected_gpus = "a number of GPUs from 1 to 1000000";

constexpr std::string_view expected_priority = "a priority from 1 to 1000";

// Columns that any table of jobs may have: whose a job is, and what it may have.
class OwnerColumns {
public:
    explicit OwnerColumns(CsvScanner& csv)
        : csv_(csv),
          user_(csv.column_if_present("user")),
          priority_(csv.column_if_present("priority")),
          budget_(csv.column_if_present("budget_usd")) {}
    void read(WorkloadRow& row) const {
        if (user_ != CsvScanner::no_column) row.user = csv_.field(user_);
        if (priority_ != CsvScanner::no_column && !csv_.field(priority_).empty()) {
            row.priority = csv_.whole(priority_, 1, priority_most, expected_priority);
        }
        if (budget_ == CsvScanner::no_column || csv_.field(budget_).empty()) return;
        row.budget_usd = above_zero(csv_, budget_, "a budget in dollars above 0, or nothing");
    }
    static double above_zero(const CsvScanner& csv, std::size_t column, const char* expected) {
        constexpr double most = 1e9;
        const std::string_view field = csv.field(column);
        double value = 0;
        const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
        const bool whole = error == std::errc{} && end == field.data() + field.size();
        if (!whole || !(value >= 1e-6 && value <= most)) csv.fail(column, expected);
        return value;
    }

private:
    const CsvScanner& csv_;
    std::size_t user_;
    std::size_t priority_;
    std::size_t budget_;
};

// One row at a time.
class RowScan {
public:
    explicit RowScan(const std::function<void(const WorkloadRow&)>& take) : take_(take) {}
    WorkloadRow& next() { return row_ = WorkloadRow{}; }
    void take() {
        first_ = std::min(first_, row_.arrival);
        ++count_;
        take_(row_);
    }
    std::size_t count() const { return count_; }
    Duration first() const { return first_; }

private:
    const std::function<void(const WorkloadRow&)>& take_;
    WorkloadRow row_;
    Duration first_ = Duration::max();
    std::size_t count_ = 0;
};

// A row that is there twice would be two jobs.
class NamesOfFile {
public:
    void add(const CsvScanner& csv, std::size_t column) {
        const bool is_new = names_.emplace(csv.field(column)).second;
        if (!is_new) csv.fail(column, "a job that does not stand there twice");
    }

private:
    std::set<std::string, std::less<>> names_;
};

enum class WorkloadForm : std::uint8_t { applications, durations, counted_steps };

void read_applications(CsvScanner& csv, RowScan& rows) {
    const OwnerColumns owner(csv);
    const std::size_t name = csv.column("name");
    const std::size_t time = csv.column("time");
    const std::size_t application = csv.column("application");
    const std::size_t gpus = csv.column("num_replicas");
    const std::size_t batch = csv.column("batch_size");
    NamesOfFile names;
    while (csv.next_row()) {
        names.add(csv, name);
        WorkloadRow& row = rows.next();
        row.name = csv.field(name);
        row.arrival = csv.seconds(time);
        row.application = csv.field(application);
        row.gpus = static_cast<std::int32_t>(csv.whole(gpus, 1, gpus_most, expected_gpus));
        row.batch = csv.whole(batch, 1, std::numeric_limits<std::int32_t>::max(),
                              "a batch size of at least 1");
        owner.read(row);
        rows.take();
    }
}

// A time of the file's clock: seconds or dates, as its first row has them.
class ClockColumns {
public:
    explicit ClockColumns(const CsvScanner& csv) : csv_(csv) {}
    Duration at(std::size_t column) {
        if (clock_ == Clock::unknown) {
            clock_ = parse_timestamp(csv_.field(column)) ? Clock::dates : Clock::seconds;
        }
        return clock_ == Clock::dates ? nanoseconds(csv_.timestamp(column)) : csv_.seconds(column);
    }

private:
    const CsvScanner& csv_;
    enum class Clock : std::uint8_t { unknown, seconds, dates } clock_ = Clock::unknown;
};

// The first of the names that the header has; InputError about the last if it has none.
std::size_t column_called(CsvScanner& csv, std::initializer_list<const char*> names) {
    for (const char* name : names) {
        const std::size_t column = csv.column_if_present(name);
        if (column != CsvScanner::no_column) return column;
    }
    return csv.column(*(names.end() - 1));
}

void read_durations(CsvScanner& csv, RowScan& rows) {
    const OwnerColumns owner(csv);
    ClockColumns clock(csv);
    const std::size_t time = column_called(csv, {"timestamp", "submit_time", "submission_time"});
    const std::size_t duration = csv.column("duration");
    const std::size_t gpus = column_called(csv, {"num_gpus", "gpu_num", "num_gpu"});
    const std::size_t id = csv.column_if_present("job_id");
    const std::size_t short_name = csv.column_if_present("ddl");
    const std::size_t deadline =
        short_name == CsvScanner::no_column ? csv.column_if_present("deadline") : short_name;
    NamesOfFile names;
    while (csv.next_row()) {
        if (id != CsvScanner::no_column) names.add(csv, id);
        WorkloadRow& row = rows.next();
        row.name = id == CsvScanner::no_column ? fmt::format("job-{}", rows.count())
                                               : std::string(csv.field(id));
        row.arrival = clock.at(time);
        row.service = csv.seconds(duration);
        if (row.service <= Duration{}) csv.fail(duration, "a duration above zero");
        row.gpus = static_cast<std::int32_t>(csv.whole(gpus, 1, gpus_most, expected_gpus));
        owner.read(row);
        if (deadline != CsvScanner::no_column) {
            row.deadline = clock.at(deadline);
            if (row.deadline <= row.arrival) csv.fail(deadline, "a deadline after the submission");
        }
        rows.take();
    }
}

void read_weight(const CsvScanner& csv, WorkloadRow& row) {
    constexpr std::size_t weight = 7;
    constexpr std::size_t slo = 8;
    row.priority = csv.whole(weight, 1, priority_most, expected_priority);
    if (csv.field(slo).starts_with('-')) return;
    row.slo = OwnerColumns::above_zero(csv, slo, "an SLO above 0, or -1 for none");
}

// Job type, command, folder (of 10), flag of steps, whether it needs data, steps; then of 7 the
// arrival and the GPUs, of 10 GPUs, weight, SLO (a negative one: none) and arrival. The SLO is in
// times that the job takes, from its arrival (Gavel's scheduler.py).
void read_gavel(CsvScanner& csv, RowScan& rows) {
    constexpr std::size_t few = 7;
    constexpr std::size_t many = 10;
    while (csv.next_row(few, many)) {
        const bool is_short = csv.columns() == few;
        if (!is_short && csv.columns() != many) csv.fail(0, "7 or 10 columns between tabs");
        const std::size_t steps = is_short ? 4 : 5;
        const std::size_t gpus = 6;
        const std::size_t arrival = is_short ? 5 : 9;
        WorkloadRow& row = rows.next();
        row.name = fmt::format("job-{}", rows.count());
        row.steps = csv.whole(steps, 1, 1'000'000'000'000, "a number of steps");
        row.gpus = static_cast<std::int32_t>(csv.whole(gpus, 1, gpus_most, expected_gpus));
        row.arrival = csv.seconds(arrival);
        row.kind = fmt::format("('{}', {})", csv.field(0), row.gpus);
        if (!is_short) read_weight(csv, row);
        rows.take();
    }
}

}  // namespace

Duration scan_workloads(std::span<const std::filesystem::path> files,
                        const std::function<void(const WorkloadRow&)>& take) {
    RowScan rows(take);
    std::optional<WorkloadForm> form;
    for (const std::filesystem::path& file : files) {
        const std::string text = read_file(file);
        const bool of_steps = text.substr(0, text.find('\n')).find('\t') != std::string::npos;
        CsvScanner csv(text, file.string(), of_steps ? '\t' : ',');
        if (!of_steps) csv.read_header();
        const bool of_applications =
            !of_steps && csv.column_if_present("application") != CsvScanner::no_column;
        const WorkloadForm own = of_steps          ? WorkloadForm::counted_steps
                                 : of_applications ? WorkloadForm::applications
                                                   : WorkloadForm::durations;
        if (form.value_or(own) != own) {
            throw InputError(file.string(), "",
                             fmt::format("is of another form than {}", files.front().string()));
        }
        form = own;
        const std::size_t before = rows.count();
        switch (own) {
            case WorkloadForm::applications: read_applications(csv, rows); break;
            case WorkloadForm::durations: read_durations(csv, rows); break;
            case WorkloadForm::counted_steps: read_gavel(csv, rows); break;
        }
        if (rows.count() == before) throw InputError(file.string(), "", "there is no job in it");
    }
    return form == WorkloadForm::applications ? Duration{} : rows.first();
}

std::vector<WorkloadRow> read_workloads(std::span<const std::filesystem::path> files,
                                        WorkloadZero begins) {
    std::vector<WorkloadRow> rows;
    Duration zero = scan_workloads(files, [&](const WorkloadRow& row) { rows.push_back(row); });
    if (begins == WorkloadZero::midnight) {
        const Duration since = nanoseconds(zero.raw() % days(1).raw());
        zero -= since < Duration{} ? since + days(1) : since;
    }
    std::ranges::stable_sort(rows, {}, &WorkloadRow::arrival);
    for (WorkloadRow& row : rows) {
        row.arrival -= zero;
        if (row.deadline < Duration::max()) row.deadline -= zero;
    }
    return rows;
}

}  // namespace ukemi::traces
