// run_options.hpp — the options that commands share: declared once, so that each has one name, one
// help text and one meaning wherever a command has it.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/output_folder.hpp"
#include "analysis/requests/cluster_runs.hpp"
#include "cli/figure_options.hpp"

namespace ukemi::cli {

// --json, --csv FILE, --out FOLDER, --force and how figures are drawn: where results go besides the
// table. Nothing that is there is replaced without --force, and what was written is said.
struct OutputOptions {
    bool json = false;
    std::string csv;
    std::string out;
    bool force = false;
    FigureFlags figures;
};
// What the help says of --json, and of what a file and a folder hold.
struct OutputHelp {
    const char* json;
    const char* csv;
    const char* out;
};
void add_output_options(CLI::App& command, OutputOptions& options, const OutputHelp& help);
// --out FOLDER alone; without slashes at its end, since other folders are named after it.
CLI::Option* add_results_option(CLI::App& command, std::string& folder, const std::string& help);
// For commands that write no folder: all but --out and figures.
void add_table_options(CLI::App& command, OutputOptions& options, const OutputHelp& help);
// For commands that write a folder only if --out names it: refuses what means nothing without.
// `beside` says that the command writes another file that --force may be about.
void expect_folder(const OutputOptions& options, bool beside = false);

// The file of --csv, locked before the work begins.
class CsvFile {
public:
    explicit CsvFile(const OutputOptions& options);
    bool is_wanted() const { return file_.has_value(); }
    std::filesystem::path around() const { return file_->around(); }  // if it is wanted
    void write(const std::string& text);                              // and says so
    void write(const TextPieces& text);

private:
    const OutputOptions& options_;
    std::optional<analysis::OutputFile> file_;
};

// A line about what was written: not on standard output where that is a JSON document.
void say_written(const OutputOptions& options, std::string_view line);
// Of figures that are not named one by one: "and 1 figure more".
std::string more_figures_text(std::size_t count);
// The folder and the figures in it.
void say_results(const OutputOptions& options, const std::filesystem::path& folder,
                 const plots::FigureResult& figures);

// --set and --vary.
void add_variation_options(CLI::App& command, analysis::VariationRequest& options);

// Of commands that run scenarios on markets.
struct ExperimentOptions : analysis::RunRequest {
    bool strict = false;
    OutputOptions output;
};
// The parts of it that commands with policies of their own have, too: --traces and --zones; --set;
// --seeds, --starts and -j.
void add_trace_options(CLI::App& command, analysis::RunRequest& options);
void add_setting_option(CLI::App& command, analysis::VariationRequest& options);
void add_repetition_options(CLI::App& command, analysis::RunRequest& options, const char* starts);
// `starts` is what --starts is where neither it nor the scenario says anything, for the help.
void add_experiment_options(CLI::App& command, analysis::RunRequest& options, const char* starts);
// --baseline and --strict: for those of these commands that say what came out.
void add_judgement_options(CLI::App& command, ExperimentOptions& options);

// Of commands that run jobs on a shared cluster: --set, --vary, --seeds and --baseline, which names
// a `compared` ("scheduler").
void add_cluster_options(CLI::App& command, analysis::ClusterRequest& options,
                         std::string_view compared);
void add_schedulers_option(CLI::App& command, std::string& schedulers);
void add_full_option(CLI::App& command, bool& full);

// The terminal's columns; nothing where standard output is none.
std::optional<std::size_t> terminal_columns();

}  // namespace ukemi::cli
