// import.cpp — `ukemi import`: a public trace in our plain form, and what was found and repaired.
#include <fmt/format.h>

#include <memory>

#include "base/input_error.hpp"
#include "base/read_file.hpp"
#include "base/unit_text.hpp"
#include "cli/command.hpp"
#include "traces/reader.hpp"

namespace ukemi {

namespace {

namespace fs = std::filesystem;

struct Options {
    std::string form;
    std::vector<std::string> files;
    std::string out;
    std::string one_means = "as_documented";
    std::string gap;
    bool force = false;
};

ReadOptions read_options(const Options& options) {
    ReadOptions read;
    if (options.form != "auto") read.form = options.form;
    read.polarity = options.one_means == "available"     ? Polarity::one_is_available
                    : options.one_means == "unavailable" ? Polarity::one_is_unavailable
                                                         : Polarity::as_documented;
    if (!options.gap.empty()) read.gap = parse_duration(options.gap, "--gap");
    return read;
}

void print_report(const std::string& file, const Trace& trace) {
    const ImportReport& report = trace.report;
    fmt::print("{}: {}, {} rows", file, report.form, report.rows);
    if (report.sampling > Duration{}) fmt::print(", every {}", format_duration(report.sampling));
    if (!report.start.empty()) fmt::print(", from {}", report.start);
    fmt::print(", {} series\n", trace.series.size());
    for (const std::string& note : report.notes) fmt::print("  found: {}\n", note);
    for (const std::string& repair : report.repairs) fmt::print("  repaired: {}\n", repair);
}

std::string stem_of(const Trace& trace, const TraceSeries& series) {
    std::string stem = trace.name;
    for (const std::string& part : {series.zone, series.instance_type}) {
        if (part.empty() || trace.series.size() == 1) continue;
        stem += "-";
        for (const char c : part) stem += c == '/' || c == '\0' || c == '\\' ? '-' : c;
    }
    return stem;
}

void write(const fs::path& file, const std::string& text, bool force) {
    if (fs::exists(file) && !force) {
        throw InputError(file.string(), "", "is there already; --force replaces it");
    }
    write_file_atomically(file, text);
    fmt::print("  wrote {}\n", file.string());
}

void import(const Options& options) {
    if (options.form != "auto") {
        std::vector<std::string_view> names;
        bool known = false;
        for (const TraceForm& form : all_trace_forms()) {
            names.push_back(form.name);
            known = known || form.name == options.form;
        }
        if (!known) {
            throw InputError("import", "",
                             fmt::format("no trace form \"{}\"{} (see ukemi list traces)",
                                         options.form, did_you_mean(options.form, names)));
        }
    }
    for (const std::string& file : options.files) {
        const Trace trace = read_trace(file, read_options(options));
        print_report(file, trace);
        if (options.out.empty()) continue;
        fs::create_directories(options.out);
        for (const TraceSeries& series : trace.series) {
            const std::string stem = stem_of(trace, series);
            const std::string comment =
                fmt::format("id={} form={} zone={} type={}", stem, trace.report.form, series.zone,
                            series.instance_type);
            const fs::path folder(options.out);
            if (series.availability) {
                write(folder / (stem + ".availability.csv"),
                      to_plain_csv(*series.availability, comment), options.force);
            }
            if (series.price) {
                write(folder / (stem + ".price.csv"), to_plain_csv(*series.price, comment),
                      options.force);
            }
        }
    }
}

}  // namespace

void add_import(CLI::App& app) {
    auto options = std::make_shared<Options>();
    CLI::App* command =
        app.add_subcommand("import", "convert public traces to the plain form, and report on them");
    command->add_option("KIND", options->form, "a form from `ukemi list traces`, or auto")
        ->required();
    command->add_option("FILE", options->files, "trace files, gzip or not")->required();
    command->add_option("--out", options->out, "folder for the plain files (none: report only)");
    command->add_option("--one-means", options->one_means, "what a 1 says in forms of 0 and 1")
        ->check(CLI::IsMember({"as_documented", "available", "unavailable"}));
    command->add_option("--gap", options->gap, "time between samples, for forms that lack it");
    command->add_flag("--force", options->force, "replace files that are there already");
    command->callback([options] { import(*options); });
}

}  // namespace ukemi
