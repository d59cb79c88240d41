// collective_records.cpp — two forms of the same table.
#include "sim/cluster/collective_records.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>
#include <utility>

#include "base/read_file.hpp"
#include "base/text_scan.hpp"
#include "traces/csv_scanner.hpp"

namespace ukemi {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t size_most = std::int64_t{1} << 50;
constexpr std::int64_t machines_most = 1 << 20;
constexpr std::int64_t gpus_most = 1024;  // of a machine
constexpr std::string_view table_header =
    "size(B),count,type,time(ns),busbw(GB/s),time(ns),busbw(GB/s)";

std::optional<std::int32_t> small_whole(std::string_view text) {
    const auto value = parse_whole(text, DecimalGrammar::json);
    if (!value || *value < 1 || *value > gpus_most) return std::nullopt;
    return static_cast<std::int32_t>(*value);
}

// A time in 10^−places seconds; nothing for one that is not above zero.
std::optional<Duration> time_of(std::string_view text, int places) {
    const auto ns = parse_decimal(text, places, DecimalGrammar::relaxed);
    if (!ns || *ns <= 0) return std::nullopt;
    return nanoseconds(*ns);
}

void read_table(const fs::path& file, const CollectiveRecord& like,
                std::vector<CollectiveRecord>& records) {
    const std::string text = read_file(file);
    const std::string name = file.string();
    CsvScanner csv(text, name);
    csv.expect_header(table_header);
    while (csv.next_row(7)) {
        CollectiveRecord record = like;
        record.size = bytes(csv.whole(0, 0, size_most, "a size in bytes"));
        const auto time = time_of(csv.field(3), 0);
        if (!time) csv.fail(3, "a time in nanoseconds");
        record.time = *time;
        if (record.size > Bytes{}) records.push_back(std::move(record));
    }
}

auto key_of(const CollectiveRecord& record) {
    return std::tie(record.series, record.collective, record.machines, record.per_machine,
                    record.size);
}

}  // namespace

std::vector<CollectiveRecord> read_collective_tables(const fs::path& folder) {
    std::vector<fs::path> files;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
        if (entry.is_regular_file()) files.push_back(entry.path());
    }
    std::ranges::sort(files);
    std::vector<CollectiveRecord> records;
    for (const fs::path& file : files) {
        std::string name = file.filename().string();
        for (const std::string_view ending : {".gz", ".csv"}) {
            if (name.ends_with(ending)) name.resize(name.size() - ending.size());
        }
        const std::size_t bar = name.rfind('_');
        if (bar == std::string::npos || bar == 0 || name == file.filename().string()) continue;
        const auto count = small_whole(std::string_view(name).substr(bar + 1));
        if (!count) continue;
        CollectiveRecord like;
        like.series = like.system = like.gpu = name.substr(0, bar);
        like.collective = "all_reduce";
        like.per_machine = *count;
        read_table(file, like, records);
    }
    return records;
}

std::vector<CollectiveRecord> read_joined_collectives(std::string_view text,
                                                      std::string_view file) {
    CsvScanner csv(text, file);
    csv.read_header();
    const std::array<std::size_t, 8> at = {csv.column("system"),        csv.column("gpu"),
                                           csv.column("nodes"),         csv.column("setup"),
                                           csv.column("gpus_per_node"), csv.column("collective"),
                                           csv.column("size_bytes"),    csv.column("oop_time_us")};
    std::vector<CollectiveRecord> records;
    while (csv.next_row()) {
        CollectiveRecord record;
        record.system = csv.field(at[0]);
        record.gpu = csv.field(at[1]);
        record.machines =
            static_cast<std::int32_t>(csv.whole(at[2], 1, machines_most, "a number of nodes"));
        record.series = fmt::format("{} {}", record.system, csv.field(at[3]));
        record.per_machine =
            static_cast<std::int32_t>(csv.whole(at[4], 1, gpus_most, "a number of GPUs"));
        record.collective = csv.field(at[5]);
        record.size = bytes(csv.whole(at[6], 0, size_most, "a size in bytes"));
        const auto time = time_of(csv.field(at[7]), 3);
        if (!time || record.size == Bytes{}) continue;
        record.time = *time;
        records.push_back(std::move(record));
    }
    return records;
}

std::vector<CollectiveRecord> medians(std::vector<CollectiveRecord> records) {
    std::ranges::stable_sort(records, {}, [](const CollectiveRecord& record) {
        return std::tuple_cat(key_of(record), std::tie(record.time));
    });
    std::vector<CollectiveRecord> unique;
    for (std::size_t begin = 0, end = 0; begin < records.size(); begin = end) {
        while (end < records.size() && key_of(records[end]) == key_of(records[begin])) ++end;
        CollectiveRecord middle = records[(begin + end - 1) / 2];
        const Duration upper = records[(begin + end) / 2].time;
        middle.time += Duration::of((upper - middle.time).raw() / 2);
        unique.push_back(std::move(middle));
    }
    return unique;
}

}  // namespace ukemi
