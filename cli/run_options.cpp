#include "cli/run_options.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/input_error.hpp"
#include "base/plain_text.hpp"

namespace ukemi::cli {

void add_output_options(CLI::App& command, OutputOptions& options, const OutputHelp& help) {
    add_table_options(command, options, help);
    add_results_option(command, options.out, help.out)->type_name("FOLDER");
    add_figure_options(command, options.figures);
}

CLI::Option* add_results_option(CLI::App& command, std::string& folder, const std::string& help) {
    return command.add_option_function<std::string>(
        "--out",
        [&folder](const std::string& given) {
            folder = given;
            while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
        },
        help);
}

void add_table_options(CLI::App& command, OutputOptions& options, const OutputHelp& help) {
    command.add_flag("--json", options.json, help.json);
    command.add_option("--csv", options.csv, help.csv)->type_name("FILE");
    command.add_flag("--force", options.force, "replace what is there already");
}

void expect_folder(const OutputOptions& options, bool beside) {
    if (!options.out.empty()) return;
    const std::string_view about_figures = given_figure_option(options.figures);
    if (!about_figures.empty()) {
        throw InputError(about_figures, "", "is about figures: expected --out beside it");
    }
    if (options.force && options.csv.empty() && !beside) {
        throw InputError("--force", "", "expected --out or --csv beside it");
    }
}

CsvFile::CsvFile(const OutputOptions& options) : options_(options) {
    if (!options.csv.empty()) file_.emplace(options.csv, options.force);
}

void CsvFile::write(const std::string& text) {
    write([&](const TextTaker& take) { take(text); });
}

void CsvFile::write(const TextPieces& text) {
    if (!file_) return;
    file_->write(text);
    say_written(options_, fmt::format("csv: {}", one_line(options_.csv)));
}

void say_written(const OutputOptions& options, std::string_view line) {
    fmt::print(options.json ? stderr : stdout, "{}\n", line);
}

std::string more_figures_text(std::size_t count) {
    return fmt::format("and {} figure{} more", count, count == 1 ? "" : "s");
}

void say_results(const OutputOptions& options, const std::filesystem::path& folder,
                 const plots::FigureResult& figures) {
    constexpr std::size_t figures_named_max = 16;
    say_written(options, fmt::format("results: {}", one_line(folder.string())));
    std::size_t count = 0;
    for (const auto& file : figures.files) {  // a PNG, and perhaps a PDF, stand beside each SVG
        if (file.extension() != ".svg" || ++count > figures_named_max) continue;
        say_written(options, fmt::format("figure:  {}, .png{}", one_line(file.string()),
                                         options.figures.pdf ? ", .pdf" : ""));
    }
    if (count <= figures_named_max) return;
    say_written(options, more_figures_text(count - figures_named_max));
}

void add_setting_option(CLI::App& command, analysis::VariationRequest& options) {
    command.add_option("--set", options.settings, "change the scenario: /json/pointer=VALUE")
        ->allow_extra_args(false);
}

void add_variation_options(CLI::App& command, analysis::VariationRequest& options) {
    add_setting_option(command, options);
    command
        .add_option("--vary", options.varied,
                    "compare variants: /json/pointer=VALUE,VALUE… (again: every combination)")
        ->allow_extra_args(false);
}

void add_trace_options(CLI::App& command, analysis::RunRequest& options) {
    command.add_option("--traces", options.traces,
                       "run once on each file that matches this pattern (availability or prices)");
    command.add_flag("--zones", options.zones,
                     "the files of --traces are zones (and their prices) of one market");
}

namespace {
void add_seeds_option(CLI::App& command, std::string& seeds) {
    command.add_option("--seeds", seeds, "1..10 or 1,2,7 (default: the scenario's)");
}
}  // namespace

void add_experiment_options(CLI::App& command, analysis::RunRequest& options, const char* starts) {
    add_trace_options(command, options);
    command.add_option("--policies", options.policies,
                       "lists to compare: a,b+c runs [a] and [b, c] (default: the scenario's; "
                       "--vary policy=a,b+c is the same)");
    add_variation_options(command, options.variation);
    add_repetition_options(command, options, starts);
}

void add_repetition_options(CLI::App& command, analysis::RunRequest& options, const char* starts) {
    add_seeds_option(command, options.seeds);
    command.add_option("--starts", options.starts,
                       fmt::format("begin in each trace at: 40 moments, every=6h, at=0h,12h, or "
                                   "apart: windows that do not overlap (default: the scenario's, "
                                   "or {})",
                                   starts));
    command.add_option("-j,--threads", options.threads, "runs at a time (default: all cores)")
        ->check(CLI::Range(1, 1024));
}

void add_judgement_options(CLI::App& command, ExperimentOptions& options) {
    command.add_option("--baseline", options.baseline,
                       "compare each policy with this one, pair by pair");
    command.add_flag("--strict", options.strict, "a warning is an error: no results, exit 2");
}

void add_cluster_options(CLI::App& command, analysis::ClusterRequest& options,
                         std::string_view compared) {
    add_variation_options(command, options.variation);
    add_seeds_option(command, options.seeds);
    command.add_option("--baseline", options.baseline,
                       fmt::format("compare each {} with this one, pair by pair", compared));
}

void add_schedulers_option(CLI::App& command, std::string& schedulers) {
    command.add_option("--schedulers", schedulers,
                       "these instead of the scenario's: names with commas (ukemi list "
                       "schedulers); parameters are the scenario's, or defaults");
}

void add_full_option(CLI::App& command, bool& full) {
    command.add_flag("--full", full,
                     "train every trial to its end, too, and say whether the winner is the same");
}

std::optional<std::size_t> terminal_columns() {
    winsize size{};
    const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return known ? std::optional<std::size_t>(size.ws_col) : std::nullopt;
}

}  // namespace ukemi::cli
