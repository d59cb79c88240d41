// reproduce.cpp — `ukemi reproduce`: figures of the systems that we build on, what was published
// beside what is simulated.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "analysis/output_folder.hpp"
#include "base/plain_text.hpp"
#include "cli/command.hpp"
#include "cli/figure_runs.hpp"
#include "cli/progress_line.hpp"
#include "cli/run_options.hpp"

namespace ukemi::cli {

namespace {

constexpr std::string_view all_of_them = "all";

struct ReproduceOptions {
    std::vector<std::string> names;
    bool list = false;
    OutputOptions output;
};

void print_figures(const std::vector<analysis::FigureDescription>& figures) {
    for (const analysis::FigureDescription& figure : figures) {
        fmt::print("{:<26}{:<14}{}\n{:<40}{} ({})\n", figure.name, figure.talk, figure.shows, "",
                   figure.source, figure.slide);
    }
}

bool is_file(const std::string& name) { return name.ends_with(figure_ending); }

// Those that come with ukemi in their own order, each once; then files.
std::vector<analysis::FigureDescription> chosen(
    const std::vector<std::string>& names,
    const std::vector<analysis::FigureDescription>& figures) {
    std::vector<std::string_view> known{all_of_them};
    for (const analysis::FigureDescription& figure : figures) {
        known.push_back(figure.name);
        known.push_back(figure.talk);
    }
    for (const std::string& name : names) {
        if (is_file(name) || std::ranges::find(known, name) != known.end()) continue;
        throw InputError("reproduce", "",
                         fmt::format("there is no figure or talk {}{} (see ukemi reproduce --list)",
                                     ukemi::quoted(name), did_you_mean(name, known)));
    }
    std::vector<analysis::FigureDescription> wanted;
    for (const analysis::FigureDescription& figure : figures) {
        const bool is_wanted = std::ranges::any_of(names, [&](const std::string& name) {
            return name == all_of_them || name == figure.name || name == figure.talk;
        });
        if (is_wanted) wanted.push_back(figure);
    }
    for (const std::string& name : names) {
        if (is_file(name)) wanted.push_back(analysis::read_figure_description(name));
    }
    return wanted;
}

struct Reproduced {
    std::vector<analysis::ReproducedFigure> figures;
    std::vector<std::string> left_out;  // and why
};

Reproduced reproduced(const std::vector<analysis::FigureDescription>& wanted) {
    Reproduced all;
    ProgressLine progress("figures");
    std::size_t done = 0;
    for (const analysis::FigureDescription& about : wanted) {
        progress(done++, wanted.size());
        if (const auto absent = absent_recordings(about)) {
            all.left_out.push_back(
                fmt::format("{}: left out, for there are no recordings {}", about.name, *absent));
            continue;
        }
        all.figures.push_back(analysis::reproduce_figure(about, rows_of_run));
    }
    progress.clear();
    return all;
}

plots::FigureResult write_files(analysis::OutputFolder& folder, const Reproduced& all,
                                const plots::FigureOptions& draw) {
    plots::FigureResult drawn;
    for (const analysis::ReproducedFigure& figure : all.figures) {
        const std::filesystem::path own = figure.about.name;
        add_result(drawn, analysis::draw_reproduced(figure, folder.staging() / own, draw));
        folder.write(own / "errors.csv", analysis::errors_csv({&figure, 1}));
        folder.write(own / "figure.txt", analysis::figure_text(figure));
    }
    folder.write("errors.csv", analysis::errors_csv(all.figures));
    folder.commit();
    return folder.settled(drawn);
}

std::string as_json(const Reproduced& all) {
    nlohmann::json figures = nlohmann::json::array();
    for (const analysis::ReproducedFigure& figure : all.figures) {
        figures.push_back(analysis::reproduced_json(figure));
    }
    const auto roles = analysis::errors_by_role_json(analysis::errors_by_role(all.figures));
    return nlohmann::json{{"figures", figures}, {"roles", roles}, {"left_out", all.left_out}}.dump(
               2) +
           "\n";
}

std::string list_json(const std::vector<analysis::FigureDescription>& figures) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const analysis::FigureDescription& one : figures) {
        list.push_back({{"name", one.name},
                        {"title", one.title},
                        {"talk", one.talk},
                        {"source", one.source},
                        {"slide", one.slide},
                        {"shows", one.shows},
                        {"bound_percent", one.bound_percent}});
    }
    return list.dump(2) + "\n";
}

void list_figures(const ReproduceOptions& options,
                  const std::vector<analysis::FigureDescription>& figures) {
    if (!options.output.json) return print_figures(figures);
    fmt::print("{}", list_json(figures));
}

// The last line; whether all is as it should be.
bool say_how_many(const OutputOptions& output, const Reproduced& all) {
    std::size_t broken = 0;
    for (const analysis::ReproducedFigure& figure : all.figures) {
        broken += figure.is_within_bound() ? 0 : 1;
    }
    for (const std::string& one : all.left_out) say_written(output, one_line(one));
    say_written(output, fmt::format("{} figure{} made, {} left out, {} beyond the bound stated",
                                    all.figures.size(), all.figures.size() == 1 ? "" : "s",
                                    all.left_out.size(), broken));
    return broken == 0 && all.left_out.empty();
}

void reproduce(ReproduceOptions& options) {
    OutputOptions& output = options.output;
    const std::vector<analysis::FigureDescription> figures = described_figures();
    const auto wanted = chosen(options.names, figures);
    if (options.names.empty()) return list_figures(options, figures);
    if (options.list) return list_figures(options, wanted);
    output.figures.pdf = true;
    const plots::FigureOptions draw = figure_options(output.figures);
    std::optional<analysis::OutputFolder> folder;
    if (!output.json || !output.out.empty()) {
        if (output.out.empty()) output.out = "results/reproduced";
        folder.emplace(output.out, output.force);
    }
    CsvFile csv(output);
    const Reproduced all = reproduced(wanted);
    plots::FigureResult drawn;
    if (folder) drawn = write_files(*folder, all, draw);
    if (output.json) {
        fmt::print("{}", as_json(all));
    } else {
        for (const analysis::ReproducedFigure& figure : all.figures) {
            fmt::print("{}\n", analysis::errors_table(figure));
        }
        if (all.figures.size() > 1) {
            fmt::print("{}\n",
                       analysis::errors_by_role_table(analysis::errors_by_role(all.figures)));
        }
    }
    if (csv.is_wanted()) csv.write(analysis::errors_csv(all.figures));
    if (folder) say_results(output, folder->path(), drawn);
    const bool good = say_how_many(output, all);
    if (!analysis::say_figures(drawn) || !good) throw ExitWith{exit_machine_failed};
}

}  // namespace

void add_reproduce(CLI::App& app) {
    auto options = std::make_shared<ReproduceOptions>();
    CLI::App* command = app.add_subcommand(
        "reproduce", "figures of the systems we build on: published beside simulated");
    command->add_option("NAME", options->names,
                        "figures by name, talks, all, or files (none: says which there are)");
    command->add_flag("--list", options->list,
                      "what each shows, its source and its slide; with names, of these");
    add_output_options(
        *command, options->output,
        {"print all values as JSON instead of tables", "write a row a value to this file, too",
         "folder for figures, their data and errors (default: results/reproduced)"});
    for (const char* meaningless : {"--pdf", "--only"}) {
        command->remove_option(command->get_option(meaningless));
    }
    command->callback([options] { reproduce(*options); });
}

}  // namespace ukemi::cli
