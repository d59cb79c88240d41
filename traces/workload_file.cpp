// workload_file.cpp — reads the forms of recorded workloads.
#include "traces/workload_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/read_file.hpp"
#include "traces/csv_scanner.hpp"

namespace ukemi::traces {

namespace {

constexpr std::int32_t gpus_most = 1'000'000;
constexpr std::string_view expected_gpus = "a number of GPUs from 1 to 1000000";

void read_applications(CsvScanner& csv, std::vector<WorkloadRow>& rows) {
    const std::size_t name = csv.column("name");
    const std::size_t time = csv.column("time");
    const std::size_t application = csv.column("application");
    const std::size_t gpus = csv.column("num_replicas");
    const std::size_t batch = csv.column("batch_size");
    while (csv.next_row()) {
        WorkloadRow& row = rows.emplace_back();
        row.name = csv.field(name);
        row.arrival = csv.seconds(time);
        row.application = csv.field(application);
        row.gpus = static_cast<std::int32_t>(csv.whole(gpus, 1, gpus_most, expected_gpus));
        row.batch = csv.whole(batch, 1, std::numeric_limits<std::int32_t>::max(),
                              "a batch size of at least 1");
    }
}

void read_durations(CsvScanner& csv, std::vector<WorkloadRow>& rows) {
    const std::size_t stamp = csv.column_if_present("timestamp");
    const std::size_t time = stamp == CsvScanner::no_column ? csv.column("submission_time") : stamp;
    const std::size_t duration = csv.column("duration");
    const std::size_t plural = csv.column_if_present("num_gpus");
    const std::size_t gpus = plural == CsvScanner::no_column ? csv.column("num_gpu") : plural;
    const std::size_t id = csv.column_if_present("job_id");
    const std::size_t deadline = csv.column_if_present("deadline");
    while (csv.next_row()) {
        WorkloadRow& row = rows.emplace_back();
        row.name = id == CsvScanner::no_column ? fmt::format("job-{}", rows.size() - 1)
                                               : std::string(csv.field(id));
        row.arrival =
            stamp == CsvScanner::no_column ? csv.seconds(time) : nanoseconds(csv.timestamp(time));
        row.service = csv.seconds(duration);
        if (row.service <= Duration{}) csv.fail(duration, "a duration above zero");
        row.gpus = static_cast<std::int32_t>(csv.whole(gpus, 1, gpus_most, expected_gpus));
        if (deadline == CsvScanner::no_column) continue;
        row.deadline = csv.seconds(deadline);
        if (row.deadline <= row.arrival) csv.fail(deadline, "a deadline after the submission");
    }
}

}  // namespace

std::vector<WorkloadRow> read_workloads(std::span<const std::filesystem::path> files) {
    std::vector<WorkloadRow> rows;
    for (const std::filesystem::path& file : files) {
        const std::string text = read_file(file);
        CsvScanner csv(text, file.string());
        csv.read_header();
        const bool of_applications = csv.column_if_present("application") != CsvScanner::no_column;
        if (!rows.empty() && rows.front().application.empty() == of_applications) {
            throw InputError(file.string(), "",
                             fmt::format("is of another form than {}", files.front().string()));
        }
        const std::size_t before = rows.size();
        of_applications ? read_applications(csv, rows) : read_durations(csv, rows);
        if (rows.size() == before) throw InputError(file.string(), "", "there is no job in it");
    }
    std::ranges::stable_sort(rows, {}, &WorkloadRow::arrival);
    const Duration zero = rows.front().application.empty() ? rows.front().arrival : Duration{};
    for (WorkloadRow& row : rows) {
        row.arrival -= zero;
        if (row.deadline < Duration::max()) row.deadline -= zero;
    }
    return rows;
}

}  // namespace ukemi::traces
