#include "cli/import_nccl.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "base/input_error.hpp"
#include "base/plain_text.hpp"
#include "base/read_file.hpp"
#include "kernels/machine_costs.hpp"
#include "traces/nccl_tests.hpp"
#include "traces/reader.hpp"

namespace ukemi {

namespace {

namespace fs = std::filesystem;

void print_fit(std::span<const CollectiveTable> tables, BufferUse use, const char* name) {
    const auto fit = alpha_beta(tables, use);
    if (!fit) return;
    const CollectiveTable& first = tables.front();
    fmt::print("  {}: {:.1f} us + bytes / {:.3f} GB/s", name, fit->fixed * 1e6,
               1e-9 / std::max(fit->per_unit, 1e-21));
    const double factor = first.ranks > 1 ? bus_factor(first.collective, first.ranks) : 0;
    if (factor > 0 && fit->per_unit > 0) {
        fmt::print(", busbw at the limit {:.2f} GB/s", factor / fit->per_unit / 1e9);
    }
    fmt::print("; {:.0f} to {:.0f} B, {} points, off by {:.1f} % (rms), {:.1f} % at most\n",
               fit->x_min, fit->x_max, fit->points, 100 * fit->off_rms, 100 * fit->off_most);
}

void print_table(const std::string& file, const CollectiveTable& table) {
    fmt::print("{}: {}, {}, ", one_line(file), table.form, table.collective);
    if (!table.system.empty()) fmt::print("{} {}, ", table.system, table.setup);
    fmt::print("{} ranks on {} node{}, {}, {} rows", table.ranks, table.nodes,
               table.nodes == 1 ? "" : "s",
               table.devices.empty() ? "device unknown"
                                     : fmt::format("{}", fmt::join(table.devices, ", ")),
               table.rows.size());
    if (table.warm_up >= 0) fmt::print(", {} warm-up", table.warm_up);
    if (table.iterations >= 0) fmt::print(", {} iterations", table.iterations);
    if (table.out_of_bounds) fmt::print(", {} out of bounds", *table.out_of_bounds);
    fmt::print("\n");
    for (const std::string& note : table.notes) fmt::print("  found: {}\n", one_line(note));
}

void print_fits(std::span<const CollectiveTable> tables) {
    print_fit(tables, BufferUse::out_of_place, "out of place");
    print_fit(tables, BufferUse::in_place, "in place");
}

}  // namespace

void import_nccl(const NcclImport& given) {
    std::vector<CollectiveTable> all;
    for (const std::string& file : given.files) {
        auto tables = read_nccl_tests(file, {given.collective, given.ranks});
        for (const CollectiveTable& table : tables) {
            print_table(file, table);
            if (!given.join) print_fits(std::span(&table, 1));
        }
        std::ranges::move(tables, std::back_inserter(all));
    }
    if (given.join) {
        check_one_machine(all, "--join");
        fmt::print("{} tables together\n", all.size());
        print_fits(all);
    }
    if (given.out.empty()) return;
    const fs::path file =
        fs::path(given.out) / (trace_name(given.files.front()) + ".collectives.csv");
    if (fs::exists(file) && !given.force) {
        throw InputError(file.string(), "", "is there already; --force replaces it");
    }
    fs::create_directories(given.out);
    write_file_atomically(file, to_plain_csv(all));
    fmt::print("  wrote {}\n", one_line(file.string()));
}

}  // namespace ukemi
