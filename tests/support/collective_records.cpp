// collective_records.cpp — from tables of files to rows.
#include "tests/support/collective_records.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/text_scan.hpp"

namespace ukemi::test {
namespace {

namespace fs = std::filesystem;

// "v100_8.csv", "v100_8.csv.gz"
bool is_table_name(std::string_view name) {
    if (name.ends_with(".gz")) name.remove_suffix(3);
    if (!name.ends_with(".csv")) return false;
    name.remove_suffix(4);
    const std::size_t bar = name.rfind('_');
    if (bar == std::string_view::npos || bar == 0) return false;
    const auto count = parse_whole(name.substr(bar + 1), DecimalGrammar::json);
    return count && *count >= 1;
}

auto key_of(const CollectiveRecord& record) {
    return std::tie(record.series, record.collective, record.machines, record.per_machine,
                    record.size);
}

}  // namespace

std::vector<CollectiveRecord> collective_records(std::span<const traces::CollectiveTable> tables) {
    std::vector<CollectiveRecord> records;
    for (const traces::CollectiveTable& table : tables) {
        CollectiveRecord like;
        like.machines = std::max(table.nodes, 1);
        if (table.ranks < 1 || table.ranks % like.machines != 0) continue;
        like.per_machine = table.ranks / like.machines;
        like.gpu = table.devices.empty() ? "" : table.devices.front();
        like.system = table.system.empty() ? like.gpu : table.system;
        like.series =
            table.setup.empty() ? like.system : fmt::format("{} {}", like.system, table.setup);
        like.collective = table.collective;
        for (const traces::CollectiveRow& row : table.rows) {
            if (row.bytes == 0 || !row.out_of_place || !(row.out_of_place->time_us > 0)) continue;
            CollectiveRecord record = like;
            record.size = bytes(row.bytes);
            record.time = nanoseconds(round_nearest(row.out_of_place->time_us * 1e3));
            records.push_back(std::move(record));
        }
    }
    return records;
}

std::vector<CollectiveRecord> read_collective_folder(const fs::path& folder) {
    std::vector<fs::path> files;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
        if (!entry.is_regular_file() || !is_table_name(entry.path().filename().string())) continue;
        files.push_back(entry.path());
    }
    std::ranges::sort(files);
    std::vector<CollectiveRecord> records;
    for (const fs::path& file : files) {
        auto more = collective_records(traces::read_nccl_tests(file));
        records.insert(records.end(), std::make_move_iterator(more.begin()),
                       std::make_move_iterator(more.end()));
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

}  // namespace ukemi::test
