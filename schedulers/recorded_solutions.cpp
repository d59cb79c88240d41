// recorded_solutions.cpp — reads both forms of recorded solutions.
#include "schedulers/recorded_solutions.hpp"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>

#include "base/key_notes.hpp"
#include "base/plain_text.hpp"
#include "base/read_file.hpp"

namespace ukemi::schedulers {

namespace {

std::vector<std::string_view> fields_of(std::string_view line, char separator) {
    std::vector<std::string_view> fields;
    for (std::size_t from = 0; from <= line.size();) {
        const std::size_t to = std::min(line.find(separator, from), line.size());
        fields.push_back(line.substr(from, to - from));
        from = to + 1;
    }
    return fields;
}

template <class Number>
bool read_number(std::string_view text, Number& value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && end == text.data() + text.size();
}

// Calls `visit(line, its number)` for each that is not empty and no comment.
template <class Visit>
void each_line(std::string_view text, Visit visit) {
    std::size_t number = 0;
    for (std::string_view line : fields_of(text, '\n')) {
        ++number;
        if (line.ends_with('\r')) line.remove_suffix(1);
        if (!line.empty() && line.front() != '#') visit(line, number);
    }
}

}  // namespace

RecordedSolutions RecordedSolutions::in(ConfigReader& parameters, std::string_view key) {
    RecordedSolutions all;
    if (!parameters.has(key)) return all;
    const std::string name = parameters.text(key);
    if (KeyExplorer::of(parameters.file()) != nullptr) return all;  // only keys are looked for
    const std::filesystem::path folder = std::filesystem::path(parameters.file()).parent_path();
    all.file_ = (folder / name).string();
    const std::string text = read_file(all.file_);
    text.starts_with("time_s,") ? all.read_table(text) : all.read_rounds(text);
    if (all.rows_.empty()) throw InputError(all.file_, "", "there is no solution in it");
    return all;
}

std::span<const double> RecordedSolutions::at(Instant now, std::string_view job) const {
    constexpr std::int64_t second = 1'000'000'000;
    const auto found = rows_.find({now.raw() / second, std::string(job)});
    if (now.raw() % second == 0 && found != rows_.end()) return found->second;
    throw InputError(file_, "",
                     fmt::format("expected a solution for job {} at {}, which this run asks for, "
                                 "found none",
                                 quoted(job), format_duration(now.since_start())));
}

void RecordedSolutions::read_table(std::string_view text) {
    std::vector<std::string> header;
    each_line(text, [&](std::string_view line, std::size_t number) {
        const auto fields = fields_of(line, ',');
        if (header.empty()) {
            header.assign(fields.begin(), fields.end());
            if (header.size() < 3 || header[1] != "job") fail(number, "expected time_s,job,x_…");
            return;
        }
        std::int64_t time_s = 0;
        if (fields.size() != header.size() || !read_number(fields[0], time_s)) {
            fail(number, "expected as many fields as the header has, the first a time in seconds");
        }
        std::vector<double>& values = rows_[{time_s, std::string(fields[1])}];
        for (std::size_t i = 2; i < fields.size(); ++i) {
            if (!header[i].starts_with("x_")) continue;
            if (!read_number(fields[i], values.emplace_back())) fail(number, "expected a number");
        }
    });
}

void RecordedSolutions::read_rounds(std::string_view text) {
    std::int64_t time_s = -1;
    each_line(text, [&](std::string_view line, std::size_t number) {
        const auto fields = fields_of(line, ' ');
        if (fields.front() == "R") {
            if (fields.size() < 2 || !read_number(fields[1], time_s)) {
                fail(number, "expected R and a time in seconds");
            }
            return;
        }
        double chosen = 0;
        if (time_s < 0 || fields.size() < 2 || !read_number(fields[1], chosen)) {
            fail(number, "expected a round (R and its time), then jobs and what was chosen");
        }
        rows_[{time_s, std::string(fields[0])}] = {chosen};
    });
}

void RecordedSolutions::fail(std::size_t line, std::string_view problem) const {
    throw InputError(fmt::format("{}:{}", file_, line), "", std::string(problem));
}

}  // namespace ukemi::schedulers
