// recorded_changes_test.cpp — recorded files as another program might have saved them: other line
// ends, a byte order mark, blank lines, rows in another order. The series must be the same.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/read_file.hpp"
#include "base/rng.hpp"
#include "tests/traces/recorded_series.hpp"

using namespace ukemi;
using namespace ukemi::traces;
using namespace ukemi::test;

namespace {

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        std::string line = text.substr(at, end - at);
        if (line.ends_with('\r')) line.pop_back();
        lines.push_back(std::move(line));
        at = end + 1;
    }
    return lines;
}

std::string joined(const std::vector<std::string>& lines, std::string_view line_end) {
    std::string text;
    for (const std::string& line : lines) text.append(line).append(line_end);
    return text;
}

// Without the first `kept` lines.
void shuffle(std::vector<std::string>& lines, std::size_t kept) {
    RandomStream random(5, "test/shuffle");
    for (std::size_t i = lines.size(); i-- > kept + 1;) {
        const auto other =
            random.integer(static_cast<std::int64_t>(kept), static_cast<std::int64_t>(i));
        std::swap(lines[i], lines[static_cast<std::size_t>(other)]);
    }
}

bool same_record(const Trace& a, const Trace& b) {
    if (a.series.size() != b.series.size()) return false;
    for (std::size_t i = 0; i < a.series.size(); ++i) {
        const TraceSeries& x = a.series[i];
        const TraceSeries& y = b.series[i];
        if (x.zone != y.zone || x.instance_type != y.instance_type || x.start != y.start)
            return false;
        if (x.availability != y.availability || x.price != y.price || x.nodes != y.nodes)
            return false;
    }
    return a.lifetimes.size() == b.lifetimes.size() && a.bands == b.bands &&
           a.listed_prices.size() == b.listed_prices.size();
}

// Forms whose rows stand for themselves, and how many lines of header they have.
const std::map<std::string, std::size_t> any_order{
    {"skynomad_csv", 1},           {"skypilot_strategy_txt", 0}, {"skynomad_probe_counts", 1},
    {"aws_price_history_csv", 1},  {"stamped_price_csv", 1},     {"azure_daily_prices_csv", 1},
    {"bamboo_counts", 0},          {"lifetimes_csv", 1},         {"price_list_csv", 1},
    {"gpu_price_tracker_jsonl", 0}};

ReadOptions options_for(const fs::path& file) {
    ReadOptions options;
    if (file.string().find("v100_spot_prices") != std::string::npos) options.gap = minutes(3);
    return options;
}

}  // namespace

TEST_CASE("recorded: line ends, marks, blank lines and the order of rows change nothing",
          "[traces][recorded][property]") {
    NEEDS_RECORDED_DATA(data, "normalized");
    std::set<std::string> seen;  // two files of every form and folder
    std::map<std::string, int> files;
    for (const char* folder :
         {"aws_gpu_ondemand", "aws_spot_2015_g2", "aws_spot_2016_g2_8x", "bamboo",
          "goog_preemption", "gpu_price_tracker", "parcae", "skynomad", "skypilot_spot_strategy",
          "skypilot_spot_traces", "spothedge", "training_on_a_dime"}) {
        for (const fs::path& file : files_under(data / folder)) {
            CAPTURE(file);
            Trace plain;
            const std::string text = read_file(file);
            try {
                plain = read_trace_text(text, file, options_for(file));
            } catch (const InputError&) {
                continue;  // not a market record: recorded_table_test says which
            }
            const std::string& form = plain.report.form;
            if (++files[folder + form] > 2) continue;
            seen.insert(form);
            std::vector<std::string> lines = lines_of(text);
            const auto again = [&](const std::string& changed) {
                return read_trace_text(changed, file, options_for(file));
            };
            CHECK(same_record(plain, again("\xEF\xBB\xBF" + joined(lines, "\r\n"))));
            CHECK(same_record(plain, again(joined(lines, "\n\n"))));
            CHECK(same_record(plain, again(joined(lines, "\r"))));
            const auto header = any_order.find(form);
            if (header == any_order.end()) continue;
            std::erase(lines, "");
            shuffle(lines, header->second);
            lines.push_back(lines.back());  // and one said twice
            if (form == "lifetimes_csv") lines.pop_back();
            CHECK(same_record(plain, again(joined(lines, "\n"))));
        }
    }
    for (const auto& [form, header] : any_order) {
        if (seen.contains(form)) continue;
        CAPTURE(form);
        CHECK_FALSE(whole_recorded_data().has_value());
        WARN("left out: no recorded data: a file of the form " << form);
    }
    CHECK(seen.size() >= 15);
}
