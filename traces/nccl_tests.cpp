#include "traces/nccl_tests.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/csv_writer.hpp"
#include "base/input_error.hpp"
#include "base/plain_text.hpp"
#include "base/read_file.hpp"
#include "base/text_scan.hpp"
#include "traces/nccl_columns.hpp"

namespace ukemi::traces {

namespace nccl {

std::string_view collective_in(std::string_view name) {
    static constexpr std::array<std::string_view, 10> names{
        "all_reduce", "all_gather", "reduce_scatter", "broadcast", "alltoall",
        "sendrecv",   "gather",     "scatter",        "hypercube", "reduce"};
    // The longer names stand first: "reduce" is part of others.
    for (const std::string_view known : names) {
        if (name.find(known) != std::string_view::npos) return known;
    }
    return {};
}

std::optional<double> amount(std::string_view text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    if (!std::isfinite(value) || value < 0 || value > 1e18) return std::nullopt;
    return value;
}

std::optional<std::int64_t> whole(std::string_view text) {
    const auto value = parse_whole(text, DecimalGrammar::relaxed);
    return value && *value >= 0 ? value : std::nullopt;
}

void finish(CollectiveTable& table, const std::filesystem::path& file,
            const NcclReadOptions& options) {
    settle(table, file, options);
    std::int64_t odd = 0;
    std::int64_t wrong = 0;
    for (const CollectiveRow& row : table.rows) {
        for (const auto& half : {row.out_of_place, row.in_place}) {
            if (!half) continue;
            odd += is_consistent(row, *half) ? 0 : 1;
            wrong += half->wrong.value_or(0) > 0 ? 1 : 0;
        }
    }
    if (odd > 0) {
        table.notes.push_back(fmt::format("{} bandwidths are not bytes / time", odd));
    }
    if (wrong > 0) {
        table.notes.push_back(fmt::format("{} times with wrong elements: left out of fits", wrong));
    }
}

}  // namespace nccl

std::vector<CollectiveTable> parse_nccl_tests(std::string_view text,
                                              const std::filesystem::path& file,
                                              const NcclReadOptions& options) {
    if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    std::vector<CollectiveTable> tables;
    if (first != std::string_view::npos && text[first] == '{') {
        tables = nccl::read_json(text, file);
    } else if (text.starts_with("size(B),")) {
        tables = nccl::read_vtrain(text, file);
    } else if (text.starts_with("source,system,gpu,")) {
        tables = nccl::read_collected(text, file);
    } else {
        tables = nccl::read_tables(text, file);
    }
    if (tables.empty()) {
        throw InputError(file.string(), "",
                         "is no output of nccl-tests: there is no heading that begins with size, "
                         "count and has a row below it");
    }
    for (CollectiveTable& table : tables) nccl::finish(table, file, options);
    return tables;
}

std::vector<CollectiveTable> read_nccl_tests(const std::filesystem::path& file,
                                             const NcclReadOptions& options) {
    constexpr std::size_t bytes_most = std::size_t{64} << 20;
    return parse_nccl_tests(read_file(file, bytes_most), file, options);
}

std::optional<LineFit> alpha_beta(std::span<const CollectiveTable> tables, BufferUse use) {
    std::vector<LinePoint> points;
    for (const CollectiveTable& table : tables) {
        for (const CollectiveRow& row : table.rows) {
            const auto& half = use == BufferUse::in_place ? row.in_place : row.out_of_place;
            // Small gathers are rounded to 0 bytes: nothing is sent then.
            if (!half || half->time_us < 1e-6 || row.bytes == 0) continue;
            if (half->wrong.value_or(0) > 0) continue;
            points.push_back({static_cast<double>(row.bytes), half->time_us * 1e-6});
        }
    }
    if (points.empty()) return std::nullopt;
    const LineFit fit = fit_line(points);
    if (fit.x_min >= fit.x_max) return std::nullopt;
    return fit;
}

void check_one_machine(std::span<const CollectiveTable> tables, std::string_view where) {
    for (const CollectiveTable& table : tables) {
        const CollectiveTable& first = tables.front();
        if (table.devices != first.devices) {
            throw InputError(
                where, "",
                fmt::format("measured on {} and on {}: no fit mixes devices",
                            fmt::join(first.devices, ", "), fmt::join(table.devices, ", ")));
        }
        if (table.collective != first.collective || table.ranks != first.ranks) {
            throw InputError(
                where, "",
                fmt::format("{} of {} ranks and {} of {} ranks: no fit mixes them",
                            first.collective, first.ranks, table.collective, table.ranks));
        }
    }
}

std::string to_plain_csv(std::span<const CollectiveTable> tables) {
    CsvWriter csv({"collective", "ranks", "nodes", "devices", "size_bytes", "type", "buffers",
                   "time_us", "algbw_gbytes_s", "busbw_gbytes_s", "wrong", "p99_us", "cv_percent"});
    constexpr double none = std::numeric_limits<double>::quiet_NaN();  // an empty field
    for (const CollectiveTable& table : tables) {
        const std::string devices = fmt::format("{}", fmt::join(table.devices, ", "));
        for (const CollectiveRow& row : table.rows) {
            const auto add = [&](const char* buffers, const std::optional<CollectiveTime>& half) {
                if (!half) return;
                csv.add(table.collective).add(table.ranks).add(table.nodes).add(devices);
                csv.add(row.bytes).add(row.type).add(buffers).add(half->time_us);
                csv.add(half->algbw_gbytes_s).add(half->busbw_gbytes_s);
                csv.add(half->wrong ? fmt::format("{}", *half->wrong) : std::string());
                csv.add(half->p99_us.value_or(none)).add(half->cv_percent.value_or(none));
                csv.end_row();
            };
            add("out_of_place", row.out_of_place);
            add("in_place", row.in_place);
        }
    }
    return csv.text();
}

}  // namespace ukemi::traces
