// nccl_documents.cpp — nccl-tests' results as JSON, and two forms of CSV that others made of them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "base/json_document.hpp"
#include "base/plain_text.hpp"
#include "traces/csv_scanner.hpp"
#include "traces/nccl_columns.hpp"

namespace ukemi::traces::nccl {

namespace {

using nlohmann::json;

class NcclDocument {
public:
    explicit NcclDocument(const std::filesystem::path& file) : file_(file) {}

    [[noreturn]] void fail(const std::string& path, const std::string& problem) const {
        throw InputError(file_.string(), path, problem);
    }
    const json* member(const json& object, const char* key) const {
        const auto found = object.find(key);
        return found == object.end() || found->is_null() ? nullptr : &*found;
    }
    const json& needed(const json& object, const char* key, const std::string& path) const {
        const json* found = member(object, key);
        if (found == nullptr) fail(path, fmt::format("missing: \"{}\"", key));
        return *found;
    }
    std::int64_t whole(const json& value, const std::string& path) const {
        if (value.is_number_unsigned() && value.get<std::uint64_t>() < std::uint64_t{1} << 62) {
            return value.get<std::int64_t>();
        }
        fail(path,
             fmt::format("expected a whole number from 0 on, found {}", ukemi::describe(value)));
    }
    // jsonDouble writes what is no number as "nan".
    double amount(const json& value, const std::string& path) const {
        if (value.is_string() && value.get<std::string>() == "nan") return 0;
        if (!value.is_number() || !(value.get<double>() >= 0) || value.get<double>() > 1e15) {
            fail(path,
                 fmt::format("expected a number from 0 on, found {}", ukemi::describe(value)));
        }
        return value.get<double>();
    }
    std::string text(const json& value, const std::string& path) const {
        if (!value.is_string())
            fail(path, fmt::format("expected a text, found {}", ukemi::describe(value)));
        return one_line(value.get<std::string>());
    }
    const json& list(const json& value, const std::string& path) const {
        if (!value.is_array())
            fail(path, fmt::format("expected a list, found {}", ukemi::describe(value)));
        return value;
    }
    const json& object(const json& value, const std::string& path) const {
        if (!value.is_object()) {
            fail(path, fmt::format("expected an object, found {}", ukemi::describe(value)));
        }
        return value;
    }

private:
    const std::filesystem::path& file_;
};

std::optional<CollectiveTime> half_from(const NcclDocument& read, const json& row, const char* key,
                                        const std::string& row_path, bool& cpu_time) {
    const json* body = read.member(row, key);
    if (body == nullptr) return std::nullopt;
    const std::string path = fmt::format("{}/{}", row_path, key);
    read.object(*body, path);
    CollectiveTime half;
    const json* cpu = read.member(*body, "cpu_time");
    cpu_time = cpu_time || cpu != nullptr;
    half.time_us =
        read.amount(cpu != nullptr ? *cpu : read.needed(*body, "time", path), path + "/time");
    if (const json* value = read.member(*body, "alg_bw")) {
        half.algbw_gbytes_s = read.amount(*value, path + "/alg_bw");
    }
    if (const json* value = read.member(*body, "bus_bw")) {
        half.busbw_gbytes_s = read.amount(*value, path + "/bus_bw");
    }
    if (const json* value = read.member(*body, "nwrong")) {
        half.wrong = std::llround(read.amount(*value, path + "/nwrong"));
    }
    const std::string per_iteration = fmt::format("{}_per_iter", key);
    if (const json* each = read.member(row, per_iteration.c_str())) {
        const std::string place = fmt::format("{}/{}", row_path, per_iteration);
        read.object(*each, place);
        if (const json* value = read.member(*each, "p99_us")) {
            half.p99_us = read.amount(*value, place + "/p99_us");
        }
        if (const json* value = read.member(*each, "cv_pct")) {
            half.cv_percent = read.amount(*value, place + "/cv_pct");
        }
    }
    return half;
}

void read_config(const NcclDocument& read, const json& config, CollectiveTable& table) {
    const auto number = [&](const char* key, int otherwise) {
        const json* value = read.member(config, key);
        if (value == nullptr) return otherwise;
        const std::string path = fmt::format("/config/{}", key);
        return static_cast<int>(std::min<std::int64_t>(read.whole(*value, path), 1 << 20));
    };
    table.warm_up = number("warmup_iters", -1);
    table.iterations = number("iterations", -1);
    const std::int64_t own = std::int64_t{number("nthreads", 1)} * number("ngpus", 1);
    std::set<std::string> devices;
    std::set<std::string> hosts;
    std::set<std::int64_t> ranks;
    if (const json* list = read.member(config, "devices")) {
        for (const json& device : read.list(*list, "/config/devices")) {
            read.object(device, "/config/devices");
            if (const json* name = read.member(device, "device_info")) {
                devices.insert(read.text(*name, "/config/devices/device_info"));
            }
            if (const json* host = read.member(device, "hostname")) {
                hosts.insert(read.text(*host, "/config/devices/hostname"));
            }
            if (const json* rank = read.member(device, "rank")) {
                ranks.insert(read.whole(*rank, "/config/devices/rank"));
            }
        }
    }
    table.devices.assign(devices.begin(), devices.end());
    table.nodes = static_cast<int>(hosts.size());
    // Without MPI only the first of the devices is written.
    table.ranks = static_cast<int>(
        std::clamp<std::int64_t>(static_cast<std::int64_t>(ranks.size()), own, 1 << 20));
}

// A gzipped or plain name of a file without its endings: "a100_8" of "a100_8.csv.gz".
std::string stem_of(const std::filesystem::path& file) {
    const std::string name = file.filename().string();
    return name.substr(0, name.find('.'));
}

}  // namespace

std::vector<CollectiveTable> read_json(std::string_view text, const std::filesystem::path& file) {
    const json root = parse_json(text, file.string());
    const NcclDocument read(file);
    read.object(root, "");
    CollectiveTable table;
    table.form = "nccl-tests json";
    if (const json* arguments = read.member(root, "args")) {
        const json& list = read.list(*arguments, "/args");
        if (!list.empty()) table.collective = collective_in(read.text(list.front(), "/args/0"));
    }
    if (const json* version = read.member(root, "nccl_version")) {
        table.version = fmt::format("nccl-library={}", read.whole(*version, "/nccl_version"));
    }
    if (const json* config = read.member(root, "config")) {
        read_config(read, read.object(*config, "/config"), table);
    }
    const json& results = read.list(read.needed(root, "results", ""), "/results");
    if (results.size() > nccl_rows_max) {
        read.fail("/results", fmt::format("more than {} rows", nccl_rows_max));
    }
    for (std::size_t i = 0; i < results.size(); ++i) {
        const std::string path = fmt::format("/results/{}", i);
        const json& given = read.object(results[i], path);
        CollectiveRow row;
        row.bytes = read.whole(read.needed(given, "size", path), path + "/size");
        row.count = read.whole(read.needed(given, "count", path), path + "/count");
        if (const json* type = read.member(given, "type")) {
            row.type = read.text(*type, path + "/type");
        }
        row.out_of_place = half_from(read, given, "out_of_place", path, table.cpu_time);
        row.in_place = half_from(read, given, "in_place", path, table.cpu_time);
        table.rows.push_back(std::move(row));
    }
    if (table.rows.empty()) read.fail("/results", "expected at least one result");
    if (const json* bounds = read.member(root, "out_of_bounds")) {
        const json& object = read.object(*bounds, "/out_of_bounds");
        if (const json* count = read.member(object, "count")) {
            table.out_of_bounds = read.whole(*count, "/out_of_bounds/count");
        }
    }
    if (const json* average = read.member(root, "average_bus_bandwidth")) {
        const json& object = read.object(*average, "/average_bus_bandwidth");
        if (const json* value = read.member(object, "bandwidth")) {
            table.average_busbw = read.amount(*value, "/average_bus_bandwidth/bandwidth");
        }
    }
    return {std::move(table)};
}

// size(B),count,type,time(ns),busbw(GB/s),time(ns),busbw(GB/s); ranks end the file's name.
std::vector<CollectiveTable> read_vtrain(std::string_view text, const std::filesystem::path& file) {
    const std::string where = file.string();
    CsvScanner csv(text, where);
    csv.read_header();
    if (csv.header_columns() != 7) csv.fail_here("expected 7 columns");
    CollectiveTable table;
    table.form = "vtrain csv";
    table.collective = "all_reduce";
    const std::string stem = stem_of(file);
    const std::size_t bar = stem.rfind('_');
    if (bar != std::string::npos) {
        table.ranks = static_cast<int>(
            std::min<std::int64_t>(whole(stem.substr(bar + 1)).value_or(0), 1 << 20));
        table.devices = {one_line(stem.substr(0, bar))};
    }
    while (csv.next_row()) {
        CollectiveRow row;
        constexpr std::int64_t most = std::int64_t{1} << 50;
        row.bytes = csv.whole(0, 0, most, "a size in bytes");
        row.count = csv.whole(1, 0, most, "a number of elements");
        row.type = one_line(csv.field(2));
        const auto half = [&](std::size_t column) {
            CollectiveTime time;
            const auto time_ns = amount(csv.field(column));
            const auto busbw = amount(csv.field(column + 1));
            if (!time_ns) csv.fail(column, "a time in ns");
            if (!busbw) csv.fail(column + 1, "a bandwidth in GB/s");
            time.time_us = *time_ns / 1e3;
            time.busbw_gbytes_s = *busbw;
            if (time.time_us > 0) {
                time.algbw_gbytes_s = static_cast<double>(row.bytes) / time.time_us / 1e3;
            }
            return time;
        };
        row.out_of_place = half(3);
        row.in_place = half(5);
        table.rows.push_back(std::move(row));
        if (table.rows.size() > nccl_rows_max) csv.fail_here("more rows than a table has");
    }
    if (table.rows.empty()) csv.fail_here("expected at least one row");
    return {std::move(table)};
}

// One row a measurement, with where it was made: consecutive rows of one run are a table.
std::vector<CollectiveTable> read_collected(std::string_view text,
                                            const std::filesystem::path& file) {
    const std::string where = file.string();
    CsvScanner csv(text, where);
    csv.read_header();
    const std::size_t system = csv.column("system");
    const std::size_t gpu = csv.column("gpu");
    const std::size_t nodes = csv.column("nodes");
    const std::size_t per_node = csv.column("gpus_per_node");
    const std::size_t setup = csv.column("setup");
    const std::size_t collective = csv.column("collective");
    const std::size_t size = csv.column("size_bytes");
    const std::size_t type = csv.column("dtype");
    const std::size_t source = csv.column_if_present("file");
    const std::array<std::size_t, 6> times{
        csv.column("oop_time_us"), csv.column("oop_algbw_GBps"), csv.column("oop_busbw_GBps"),
        csv.column("ip_time_us"),  csv.column("ip_algbw_GBps"),  csv.column("ip_busbw_GBps")};
    std::vector<CollectiveTable> tables;
    std::string before;
    std::size_t rows = 0;
    while (csv.next_row()) {
        std::string run;
        for (const std::size_t part : {system, gpu, nodes, per_node, setup, collective, source}) {
            if (part != CsvScanner::no_column) run += fmt::format("{}\n", csv.field(part));
        }
        if (run != before) {
            CollectiveTable table;
            table.form = "collected csv";
            table.system = one_line(csv.field(system));
            table.setup = one_line(csv.field(setup));
            table.devices = {one_line(csv.field(gpu))};
            table.collective = one_line(csv.field(collective));
            table.nodes = static_cast<int>(csv.whole(nodes, 1, 1 << 20, "a number of nodes"));
            table.ranks =
                static_cast<int>(table.nodes * csv.whole(per_node, 1, 1 << 10, "a number of GPUs"));
            tables.push_back(std::move(table));
            before = std::move(run);
        }
        const auto half = [&](std::size_t first) -> std::optional<CollectiveTime> {
            if (csv.field(times[first]).empty()) return std::nullopt;
            std::array<double, 3> values{};
            for (std::size_t i = 0; i < 3; ++i) {
                const auto value = amount(csv.field(times[first + i]));
                if (!value) csv.fail(times[first + i], "a number from 0 on");
                values[i] = *value;
            }
            return CollectiveTime{values[0], values[1], values[2], {}, {}, {}};
        };
        CollectiveRow row;
        row.bytes = csv.whole(size, 0, std::int64_t{1} << 50, "a size in bytes");
        row.type = one_line(csv.field(type));
        row.out_of_place = half(0);
        row.in_place = half(3);
        tables.back().rows.push_back(std::move(row));
        if (++rows > nccl_rows_max) csv.fail_here("more rows than such a file has");
    }
    if (tables.empty()) csv.fail_here("expected at least one row");
    return tables;
}

}  // namespace ukemi::traces::nccl
