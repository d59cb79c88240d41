// import.cpp — `ukemi import`: public records of markets in our plain form, and what was found and
// repaired in them.
#include <fmt/format.h>

#include <list>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "analysis/output_folder.hpp"
#include "base/input_error.hpp"
#include "base/plain_text.hpp"
#include "base/unit_text.hpp"
#include "cli/command.hpp"
#include "cli/import_nccl.hpp"
#include "traces/reader.hpp"
#include "traces/timestamp.hpp"
#include "traces/zones.hpp"

namespace ukemi::cli {

namespace {

namespace fs = std::filesystem;

struct ImportOptions {
    std::vector<std::string> arguments;  // the form, if it is one, and the files
    std::string out;
    std::string one_means = "as_documented";
    std::string gap;
    std::string times;
    std::string zone;
    std::string instance_type;
    std::string collective;
    int ranks = 0;
    bool join = false;
    bool force = false;
};

bool is_form(std::string_view name) {
    for (const traces::TraceForm& form : traces::all_trace_forms()) {
        if (form.name == name) return true;
    }
    return false;
}

// The form asked for, taken off the arguments; "auto" and none are found from the content.
std::string take_form(std::vector<std::string>& arguments) {
    if (arguments.empty()) throw CLI::RequiredError("FILE");
    const std::string first = arguments.front();
    std::string form;
    if (first == "auto" || is_form(first)) {
        if (first != "auto") form = first;
        arguments.erase(arguments.begin());
    } else if (!fs::exists(first) && first.find_first_of("./") == std::string::npos) {
        std::vector<std::string_view> names;
        for (const traces::TraceForm& known : traces::all_trace_forms())
            names.push_back(known.name);
        throw InputError("import", "",
                         fmt::format("no trace form {}{} (see ukemi list traces)",
                                     ukemi::quoted(first), did_you_mean(first, names)));
    }
    if (arguments.empty()) throw CLI::RequiredError("FILE");
    return form;
}

traces::ReadOptions read_options(const ImportOptions& options, const std::string& form) {
    traces::ReadOptions read;
    read.form = form;
    read.polarity = options.one_means == "available"     ? traces::Polarity::one_is_available
                    : options.one_means == "unavailable" ? traces::Polarity::one_is_unavailable
                                                         : traces::Polarity::as_documented;
    if (!options.gap.empty()) read.gap = parse_duration(options.gap, "--gap");
    read.times = options.times;
    read.zone = options.zone;
    read.instance_type = options.instance_type;
    return read;
}

// From when the first series begins to when the last one ends; without dates, the longest of them.
std::string period_text(const traces::Trace& trace) {
    Duration longest;
    std::optional<std::int64_t> begin_ns;
    std::int64_t end_ns = 0;
    for (const traces::TraceSeries& series : trace.series) {
        Duration length;
        if (series.availability) length = series.availability->end.since_start();
        if (series.price) length = std::max(length, series.price->end.since_start());
        longest = std::max(longest, length);
        const auto start = traces::parse_timestamp(series.start);
        if (!start) continue;
        begin_ns = std::min(begin_ns.value_or(*start), *start);
        end_ns = std::max(end_ns, *start + length.raw());
    }
    if (trace.series.empty()) return {};
    if (!begin_ns) {
        return fmt::format("  period: {:.2f} h, without a calendar\n", to_hours(longest));
    }
    return fmt::format("  period: {:.2f} h, {} to {}\n", to_hours(nanoseconds(end_ns - *begin_ns)),
                       traces::format_timestamp(*begin_ns), traces::format_timestamp(end_ns));
}

std::string report_text(const std::string& what, const traces::Trace& trace) {
    const traces::ImportReport& report = trace.report;
    std::string text = fmt::format("{}: {}, {} rows", one_line(what), report.form, report.rows);
    if (report.sampling > Duration{}) {
        text += fmt::format(", every {}", format_duration(report.sampling));
    }
    if (!report.start.empty()) text += fmt::format(", from {}", one_line(report.start));
    text += fmt::format(", {} series\n{}", trace.series.size(), period_text(trace));
    for (const std::string& note : report.notes) {
        text += fmt::format("  found: {}\n", one_line(note));
    }
    for (const std::string& repair : report.repairs) {
        text += fmt::format("  repaired: {}\n", one_line(repair));
    }
    return text;
}

// What the files written of each are called: those of one name are told apart by their folders.
std::vector<std::string> plain_names(const std::vector<fs::path>& files) {
    std::vector<std::string> names = traces::trace_names(files);
    std::set<std::string> known;
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (names[i] != traces::trace_name(files[i])) {
            std::ranges::replace_if(
                names[i], [](char c) { return c == '/' || c == ' '; }, '-');
        }
        if (!known.insert(names[i]).second) {
            throw InputError(
                files[i].string(), "",
                fmt::format("its plain files would be called as those of another file, "
                            "{}: import them one by one, into two folders",
                            ukemi::quoted(names[i])));
        }
    }
    return names;
}

std::string stem_of(const traces::Trace& trace, const traces::TraceSeries& series) {
    std::string stem = trace.name;
    for (const std::string& part : {series.zone, series.instance_type}) {
        if (part.empty() || trace.series.size() == 1) continue;
        stem += "-";
        for (const char c : part) {
            const bool breaks_a_name = c == '/' || c == '\\' || c == ' ' || c < ' ';
            stem += breaks_a_name ? '-' : c;
        }
    }
    return stem;
}

// A word of the comment line: what would end it is not part of it.
std::string word(std::string text) {
    std::ranges::replace_if(
        text, [](char c) { return c == ' ' || c < ' '; }, '_');
    return text;
}

// The plain files of a trace, by their names.
class PlainFiles {
public:
    explicit PlainFiles(const traces::Trace& trace) : trace_(trace) {
        for (const traces::TraceSeries& series : trace.series) add_series(series);
        if (!trace.lifetimes.empty()) {
            add(trace.name + ".lifetimes.csv", traces::to_plain_csv(trace.lifetimes));
        }
        if (!trace.listed_prices.empty()) {
            add(trace.name + ".price_list.csv", traces::to_plain_csv(trace.listed_prices));
        }
        if (!trace.bands.empty()) add(trace.name + ".bands.csv", traces::to_plain_csv(trace.bands));
    }

    // All or, where one of them may not be written, none. Returns what to say about it.
    std::string write(const fs::path& folder, bool force) const {
        const analysis::MadeFolders made(folder);
        std::list<analysis::OutputFile> places;
        for (const auto& [name, text] : files_) places.emplace_back(folder / name, force);
        std::string written;
        for (const auto& [name, text] : files_) {
            places.front().write(text);
            places.pop_front();
            written += fmt::format("  wrote {}\n", one_line((folder / name).string()));
        }
        return written;
    }

private:
    void add_series(const traces::TraceSeries& series) {
        const std::string stem = stem_of(trace_, series);
        const std::string comment =
            fmt::format("id={} form={} zone={} type={} start={}", word(stem), trace_.report.form,
                        word(series.zone), word(series.instance_type), word(series.start));
        if (series.availability) {
            add(stem + ".availability.csv", traces::to_plain_csv(*series.availability, comment));
        }
        if (series.price) add(stem + ".price.csv", traces::to_plain_csv(*series.price, comment));
        if (!series.nodes.empty()) add(stem + ".nodes.csv", traces::to_plain_csv(series.nodes));
    }
    void add(std::string name, std::string text) {
        files_.emplace_back(std::move(name), std::move(text));
    }

    const traces::Trace& trace_;
    std::vector<std::pair<std::string, std::string>> files_;
};

void import(ImportOptions options) {
    if (!options.arguments.empty() && options.arguments.front() == "nccl-tests") {
        options.arguments.erase(options.arguments.begin());
        if (options.arguments.empty()) throw CLI::RequiredError("FILE");
        import_nccl({options.arguments, options.out, options.collective, options.ranks,
                     options.join, options.force});
        return;
    }
    const std::string form = take_form(options.arguments);
    const traces::ReadOptions read = read_options(options, form);
    const auto finish = [&](const std::string& what, const traces::Trace& trace) {
        // Printed is what was done: a file that cannot be written leaves its error alone.
        std::string text = report_text(what, trace);
        if (!options.out.empty()) text += PlainFiles(trace).write(options.out, options.force);
        fmt::print("{}", text);
    };
    const std::vector<fs::path> files(options.arguments.begin(), options.arguments.end());
    if (options.join) {
        finish(fmt::format("{} and {} more", options.arguments.front(), files.size() - 1),
               traces::read_records(files, read));
        return;
    }
    const std::vector<std::string> names =
        options.out.empty() ? traces::trace_names(files) : plain_names(files);
    for (std::size_t i = 0; i < files.size(); ++i) {
        traces::Trace trace = traces::read_record(files[i], read);
        if (files.size() > 1) trace.name = names[i];
        finish(options.arguments[i], trace);
    }
}

}  // namespace

void add_import(CLI::App& app) {
    auto options = std::make_shared<ImportOptions>();
    CLI::App* command = app.add_subcommand(
        "import",
        "convert public records of markets, or nccl-tests' output, to the plain form, and report "
        "on them");
    command->add_option("KIND FILE", options->arguments,
                        "a form of `ukemi list traces` (auto or none: found from the content) or "
                        "nccl-tests, and files, gzip or not");
    command->add_option("--out", options->out, "folder for the plain files (none: report only)");
    command->add_flag("--join", options->join, "all files are one record: pages, rounds, months");
    command->add_option("--zone", options->zone, "this zone only, of a file with several");
    command->add_option("--type", options->instance_type, "this instance type only");
    command->add_option("--one-means", options->one_means, "what a 1 says in forms of 0 and 1")
        ->check(CLI::IsMember({"as_documented", "available", "unavailable"}));
    command->add_option("--gap", options->gap, "time between samples, for forms that lack it");
    command->add_option("--times", options->times, "a file whose rows have the samples' times");
    command->add_option("--collective", options->collective,
                        "nccl-tests: which it is, for output that does not say it");
    command
        ->add_option("--ranks", options->ranks,
                     "nccl-tests: how many, for output that does not say it")
        ->check(CLI::Range(1, 1 << 20));
    command->add_flag("--force", options->force, "replace files that are there already");
    command->callback([options] { import(*options); });
}

}  // namespace ukemi::cli
