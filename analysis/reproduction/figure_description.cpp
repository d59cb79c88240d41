// figure_description.cpp — reads a figure of a source, key by key.
#include "analysis/reproduction/figure_description.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/config_reader.hpp"
#include "base/json_document.hpp"
#include "base/shell_word.hpp"

namespace ukemi::analysis {

namespace {

constexpr double bound_without_reason = 10;
constexpr double any_most = std::numeric_limits<double>::max();
constexpr std::array<std::string_view, 4> row_kinds = {"results", "changes", "steps", "course"};
constexpr std::array<std::string_view, 4> described_kinds = {"lifetimes", "time_to_loss",
                                                             "runs_with_any", "hours"};
constexpr std::array<std::string_view, 4> commands = {"simulate", "compare", "replay", "describe"};

RowSelection read_selection(ConfigReader reader) {
    RowSelection selection;
    for (const std::string& key : reader.keys()) selection[key] = reader.text(key);
    return selection;
}

// "/pointer=VALUE" for each member of the object at `key`; `varied` ones are lists.
std::vector<std::string> read_settings(ConfigReader& reader, const char* key, bool varied) {
    std::vector<std::string> settings;
    const auto object = reader.object_if_present(key);
    if (!object) return settings;
    const auto members = nlohmann::ordered_json::parse(object->object_text(), nullptr, true, true);
    for (const auto& [pointer, value] : members.items()) {
        if (!varied) {
            settings.push_back(fmt::format("{}={}", pointer, value.dump()));
            continue;
        }
        if (!value.is_array() || value.empty()) {
            object->fail(pointer, "expected a list of values");
        }
        std::vector<std::string> values;
        for (const auto& one : value) {
            values.push_back(one.is_string() ? one.get<std::string>() : one.dump());
        }
        settings.push_back(fmt::format("{}={}", pointer, fmt::join(values, ",")));
    }
    return settings;
}

// A row each so many samples, or each so much time.
void read_course_places(ConfigReader& reader, DescribedRun& run) {
    run.every_samples = reader.integer("every_samples", 0, 1'000'000'000'000, 0);
    run.every = reader.duration("every", Duration{});
    if ((run.every_samples > 0) == (run.every > Duration{})) {
        reader.fail("every", "expected this or \"every_samples\", above zero, and not both");
    }
    run.mean_of_runs = reader.flag("mean_of_runs", false);
}

DescribedRun read_description_run(ConfigReader& reader, DescribedRun run) {
    run.traces = reader.text("traces");
    run.type = reader.text("type", "");
    run.market = reader.text("market", "");
    run.fitted_to = reader.text("fitted_to", "");
    run.fitted_type = reader.text("fitted_type", "");
    if (run.market.empty() == run.fitted_to.empty()) {
        reader.fail("market", "expected this or \"fitted_to\", and not both");
    }
    run.rows = reader.one_of("rows", described_kinds);
    reader.finish();
    return run;
}

DescribedRun read_run(ConfigReader& reader) {
    DescribedRun run;
    run.name = reader.text("name");
    run.command = reader.one_of("command", commands);
    if (run.command == "describe") return read_description_run(reader, std::move(run));
    run.scenario = reader.text("scenario");
    run.settings = read_settings(reader, "set", false);
    run.varied = read_settings(reader, "vary", true);
    run.policies = reader.text("policies", "");
    run.traces = reader.text("traces", "");
    run.seeds = reader.text("seeds", "");
    run.starts = reader.text("starts", "");
    run.rows = reader.one_of("rows", row_kinds, row_kinds.front());
    if (run.command != "replay" && run.rows != row_kinds.front()) {
        reader.fail("rows", "only replay knows what happened in a run");
    }
    if (run.rows == "course") read_course_places(reader, run);
    run.from_step = reader.integer("from_step", 0, 1'000'000, 0);
    if (run.command != "replay" && run.from_step > 0) {
        reader.fail("from_step", "only replay knows what happened in a run");
    }
    const bool on_markets = !(run.policies + run.traces + run.seeds + run.starts).empty();
    if (run.command == "simulate" && on_markets) {
        reader.fail("command", "simulate has no policies, traces, seeds or starts");
    }
    reader.finish();
    return run;
}

// Names on the axis stand for their numbers.
double place_called(const ConfigReader& reader, std::string_view key, const std::string& name,
                    const FigureDescription& figure) {
    const auto found = std::ranges::find(figure.places, name);
    if (found == figure.places.end()) {
        reader.fail(key, fmt::format("\"{}\" is none of the axis' \"places\"", name));
    }
    return static_cast<double>(found - figure.places.begin());
}

std::vector<double> read_places(ConfigReader& reader, std::string_view key,
                                const FigureDescription& figure) {
    if (figure.places.empty()) return reader.numbers(key, -any_most, any_most);
    std::vector<double> at;
    for (const std::string& name : reader.texts(key)) {
        at.push_back(place_called(reader, key, name, figure));
    }
    return at;
}

// "role" for all, and lists of the places that have another.
std::vector<std::string> read_roles(ConfigReader& reader, const std::vector<double>& at,
                                    const FigureDescription& figure) {
    std::vector<std::string> roles(at.size(),
                                   reader.one_of("role", value_roles, value_roles.front()));
    for (const std::string_view role : value_roles) {
        if (!reader.has(role)) continue;
        for (const double place : read_places(reader, role, figure)) {
            const auto found = std::ranges::find(at, place);
            if (found == at.end()) {
                reader.fail(role, fmt::format("nothing was published at {:g}", place));
            }
            roles[static_cast<std::size_t>(found - at.begin())] = role;
        }
    }
    return roles;
}

DescribedValue read_value(ConfigReader& reader, const std::vector<double>& at,
                          const FigureDescription& figure) {
    DescribedValue value;
    value.take = reader.text("take");
    value.over = reader.text("over", "");
    value.times = reader.number("times", -any_most, any_most, 1);
    value.plus = reader.number("plus", -any_most, any_most, 0);
    if (auto other = reader.object_if_present("relative_to")) {
        value.relative_to = read_selection(std::move(*other));
    }
    for (const auto& [key, numbers] :
         {std::pair("published", &value.published), std::pair("naive", &value.naive)}) {
        if (!reader.has(key)) continue;
        *numbers = reader.numbers(key, -any_most, any_most);
        if (numbers->size() == at.size()) continue;
        reader.fail(key, fmt::format("expected {} values, one for each of \"published_at\", found "
                                     "{}",
                                     at.size(), numbers->size()));
    }
    if (!value.published.empty()) {
        value.published_as = reader.text("published_as", "published");
        value.roles = read_roles(reader, at, figure);
    }
    reader.finish();
    return value;
}

void read_course(ConfigReader reader, DescribedLine& line) {
    const std::vector<double> at = reader.numbers("at", -any_most, any_most);
    const std::vector<double> values = reader.numbers("values", -any_most, any_most);
    if (at.size() != values.size() || at.size() < 2 || !std::ranges::is_sorted(at)) {
        reader.fail("values", "expected as many as \"at\" has places, which rise");
    }
    line.course_role = reader.one_of("role", value_roles, value_roles.front());
    reader.finish();
    for (std::size_t i = 0; i < at.size(); ++i) {
        line.published_course.emplace_back(at[i], values[i]);
    }
}

DescribedLine read_line(ConfigReader& reader, const FigureDescription& figure) {
    DescribedLine line;
    line.name = reader.text("name");
    line.panel = reader.text("panel", "");
    line.run = reader.text("run");
    const auto named = [&](const DescribedRun& run) { return run.name == line.run; };
    if (std::ranges::none_of(figure.runs, named)) reader.fail("run", "there is no such run");
    if (auto where = reader.object_if_present("where")) {
        line.where = read_selection(std::move(*where));
    }
    line.at = reader.text("at", "");
    line.at_times = reader.number("at_times", -any_most, any_most, 1);
    if (reader.has("stands_at")) {
        line.stands_at = figure.places.empty()
                             ? reader.number("stands_at", -any_most, any_most)
                             : place_called(reader, "stands_at", reader.text("stands_at"), figure);
    }
    if (line.at.empty() != line.stands_at.has_value()) {
        reader.fail("at", "expected this or \"stands_at\", and not both");
    }
    if (line.stands_at) line.published_at = {*line.stands_at};
    if (reader.has("published_at")) line.published_at = read_places(reader, "published_at", figure);
    for (ConfigReader& value : reader.objects("values")) {
        line.values.push_back(read_value(value, line.published_at, figure));
    }
    if (line.values.size() != figure.quantities.size()) {
        reader.fail("values", fmt::format("expected {}, one for each quantity, found {}",
                                          figure.quantities.size(), line.values.size()));
    }
    if (auto course = reader.object_if_present("published_course")) {
        read_course(std::move(*course), line);
    }
    reader.finish();
    return line;
}

DescribedQuantity read_quantity(ConfigReader& reader) {
    DescribedQuantity quantity;
    quantity.name = reader.text("name");
    quantity.axis = reader.text("axis");
    quantity.column = reader.text("column");
    quantity.log_too = reader.flag("log_too", false);
    quantity.log = reader.flag("log", false);
    reader.finish();
    return quantity;
}

std::string of_type(const std::string& type) {
    return type.empty() ? std::string() : " --type " + shell_word(type);
}

// Patterns are left to the shell.
std::string describe_line(const DescribedRun& run) {
    const std::string file = run.name + ".json";
    const std::string fit = run.fitted_to.empty()
                                ? std::string()
                                : fmt::format("ukemi fit {}{} --out {} && ", run.fitted_to,
                                              of_type(run.fitted_type), shell_word(file));
    return fmt::format("{}ukemi describe {}{} --market {} --out {}", fit, run.traces,
                       of_type(run.type), shell_word(run.fitted_to.empty() ? run.market : file),
                       shell_word(run.name));
}

}  // namespace

std::string command_line(const DescribedRun& run) {
    if (run.command == "describe") return describe_line(run);
    std::string line = fmt::format("ukemi {} {}", run.command, shell_word(run.scenario));
    for (const auto& [option, values] :
         {std::pair("--set", &run.settings), std::pair("--vary", &run.varied)}) {
        for (const std::string& one : *values) {
            line += fmt::format(" {} {}", option, shell_word(one));
        }
    }
    for (const auto& [option, value] :
         {std::pair("--policies", &run.policies), std::pair("--traces", &run.traces),
          std::pair("--seeds", &run.seeds), std::pair("--starts", &run.starts)}) {
        if (!value->empty()) line += fmt::format(" {} {}", option, shell_word(*value));
    }
    return line;
}

FigureDescription read_figure_description(const std::filesystem::path& file) {
    ConfigReader reader = ConfigReader::from_file(file);
    FigureDescription figure;
    figure.file = file;
    figure.name = file.stem().string();
    figure.title = reader.text("title");
    figure.talk = reader.text("talk");
    figure.source = reader.text("source");
    figure.slide = reader.text("slide");
    figure.shows = reader.text("shows");
    figure.text = reader.text("text", "");
    figure.naive = reader.text("naive", "");
    figure.bound_percent = reader.number("bound_percent", 0, 1000, bound_without_reason);
    if (figure.bound_percent > bound_without_reason && figure.text.empty()) {
        reader.fail("bound_percent", fmt::format("above {:g} expects a \"text\" that says why",
                                                 bound_without_reason));
    }
    ConfigReader axis = reader.object("axis");
    figure.axis = axis.text("name");
    figure.axis_column = axis.text("column");
    if (axis.has("places")) figure.places = axis.texts("places");
    figure.steps = axis.flag("steps", false);
    if (axis.has("to")) figure.shown_to = axis.number("to", -any_most, any_most);
    axis.finish();
    for (ConfigReader& quantity : reader.objects("quantities")) {
        figure.quantities.push_back(read_quantity(quantity));
    }
    for (ConfigReader& run : reader.objects("runs")) figure.runs.push_back(read_run(run));
    if (figure.runs.empty()) reader.fail("runs", "expected a run: no figure is of numbers alone");
    for (ConfigReader& line : reader.objects("lines")) {
        figure.lines.push_back(read_line(line, figure));
    }
    if (figure.lines.empty()) reader.fail("lines", "expected a line");
    reader.finish();
    return figure;
}

}  // namespace ukemi::analysis
