#include "cli/import_nccl.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "analysis/output_folder.hpp"
#include "base/plain_text.hpp"
#include "kernels/machine_costs.hpp"
#include "traces/nccl_tests.hpp"
#include "traces/reader.hpp"

namespace ukemi::cli {

namespace {

namespace fs = std::filesystem;

std::string fit_text(std::span<const traces::CollectiveTable> tables, traces::BufferUse use,
                     const char* name) {
    const auto fit = traces::alpha_beta(tables, use);
    if (!fit) return {};
    const traces::CollectiveTable& first = tables.front();
    std::string text = fmt::format("  {}: {:.1f} us + bytes / {:.3f} GB/s", name, fit->fixed * 1e6,
                                   1e-9 / std::max(fit->per_unit, 1e-21));
    const bool is_known = first.ranks > 1 && first.collective != "unknown";
    const double factor = is_known ? kernels::bus_factor(first.collective, first.ranks) : 0;
    if (factor > 0 && fit->per_unit > 0) {
        text += fmt::format(", busbw at the limit {:.2f} GB/s", factor / fit->per_unit / 1e9);
    }
    return text + fmt::format(
                      "; {:.0f} to {:.0f} B, {} points, off by {:.1f} % (rms), {:.1f} % at most\n",
                      fit->x_min, fit->x_max, fit->points, 100 * fit->off_rms, 100 * fit->off_most);
}

std::string table_text(const std::string& file, const traces::CollectiveTable& table) {
    std::string text = fmt::format("{}: {}, {}, ", one_line(file), table.form, table.collective);
    if (!table.system.empty()) text += fmt::format("{} {}, ", table.system, table.setup);
    text += table.ranks == 0 ? "unknown ranks" : fmt::format("{} ranks", table.ranks);
    text += table.nodes == 0
                ? ""
                : fmt::format(" on {} node{}", table.nodes, table.nodes == 1 ? "" : "s");
    text += fmt::format(", {}, {} rows",
                        table.devices.empty() ? "device unknown"
                                              : fmt::format("{}", fmt::join(table.devices, ", ")),
                        table.rows.size());
    if (table.warm_up >= 0) text += fmt::format(", {} warm-up", table.warm_up);
    if (table.iterations >= 0) text += fmt::format(", {} iterations", table.iterations);
    if (table.out_of_bounds) text += fmt::format(", {} out of bounds", *table.out_of_bounds);
    text += "\n";
    for (const std::string& note : table.notes) {
        text += fmt::format("  found: {}\n", one_line(note));
    }
    return text;
}

std::string fits_text(std::span<const traces::CollectiveTable> tables) {
    return fit_text(tables, traces::BufferUse::out_of_place, "out of place") +
           fit_text(tables, traces::BufferUse::in_place, "in place");
}

}  // namespace

void import_nccl(const NcclImport& given) {
    std::vector<traces::CollectiveTable> all;
    std::string report;  // printed once everything is written
    for (const std::string& file : given.files) {
        auto tables = traces::read_nccl_tests(file, {given.collective, given.ranks});
        for (const traces::CollectiveTable& table : tables) {
            report += table_text(file, table);
            if (!given.join) report += fits_text(std::span(&table, 1));
        }
        std::ranges::move(tables, std::back_inserter(all));
    }
    if (given.join) {
        traces::check_one_machine(all, "--join");
        report += fmt::format("{} tables together\n{}", all.size(), fits_text(all));
    }
    if (!given.out.empty()) {
        const fs::path file =
            fs::path(given.out) / (traces::trace_name(given.files.front()) + ".collectives.csv");
        const analysis::MadeFolders made(given.out);
        analysis::OutputFile(file, given.force).write(traces::to_plain_csv(all));
        report += fmt::format("  wrote {}\n", one_line(file.string()));
    }
    fmt::print("{}", report);
}

}  // namespace ukemi::cli
