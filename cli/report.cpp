// report.cpp — `ukemi report`: results folders and databases of runs as one page to read.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "analysis/database/stored_runs.hpp"
#include "analysis/output_folder.hpp"
#include "analysis/report/report_part.hpp"
#include "base/plain_text.hpp"
#include "cli/command.hpp"
#include "cli/database_options.hpp"

namespace ukemi::cli {

namespace {

namespace fs = std::filesystem;

struct ReportOptions {
    std::vector<fs::path> results;
    fs::path out;
    bool force = false;
    DatabaseOptions database;
};

analysis::DatabaseQuestion question_of(const fs::path& file, const DatabaseOptions& options) {
    const std::string build = analysis::StoredRuns(file).build_called(options.build);
    return {options.by, options.metrics, options.baseline, build, options.where};
}

void refuse_repeated(const std::vector<fs::path>& results) {
    for (const fs::path& one : results) {
        if (std::ranges::count(results, one) > 1) {
            throw InputError(one.string(), "", "named twice");
        }
    }
}

void report(const ReportOptions& options, std::string_view about_databases) {
    refuse_repeated(options.results);
    if (!about_databases.empty() && std::ranges::all_of(options.results, [](const fs::path& one) {
            return is_directory(one);
        })) {
        throw InputError(about_databases, "",
                         "is about databases of runs, and all of these are folders");
    }
    analysis::OutputFile file(options.out, options.force);
    std::vector<analysis::ReportPart> parts;
    for (const fs::path& one : options.results) {
        if (!fs::exists(one)) {
            throw InputError(one.string(), "", "there is no such folder, and no such database");
        }
        parts.push_back(fs::is_directory(one)
                            ? analysis::part_of_results(one)
                            : analysis::part_of_database(one, question_of(one, options.database)));
    }
    const std::string page = analysis::report_page(parts);
    file.write(page);
    std::size_t figures = 0;
    bool failed = false;
    for (const analysis::ReportPart& part : parts) {
        figures += part.figures.size();
        failed = failed || part.is_drawing_failed;
        for (const std::string& note : part.figure_notes) {
            fmt::print(stderr, "figures: {}: {}\n", one_line(part.name), one_line(note));
        }
    }
    fmt::print("report: {} ({} figure{}, {:.1f} MB)\n", one_line(options.out.string()), figures,
               figures == 1 ? "" : "s", static_cast<double>(page.size()) / 1e6);
    if (failed) throw ExitWith{exit_machine_failed};
}

}  // namespace

void add_report(CLI::App& app) {
    auto options = std::make_shared<ReportOptions>();
    CLI::App* command = app.add_subcommand(
        "report", "results as one page to read: tables, figures, pairs, the scenario");
    command
        ->add_option("RESULTS", options->results,
                     "results folders, or databases of `ukemi sweep`: side by side")
        ->required();
    command->add_option("--out", options->out, "the page: HTML that needs no other file")
        ->type_name("FILE")
        ->required();
    command->add_flag("--force", options->force, "replace what is there already");
    add_database_options(*command, options->database);
    command->callback([options, command] { report(*options, given_database_option(*command)); });
}

}  // namespace ukemi::cli
