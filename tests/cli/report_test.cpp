// report_test.cpp — `ukemi report`: a page that holds what the results hold, loads nothing, obeys
// no text that it shows, and is read on a telephone.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <pugixml.hpp>

#include "tests/cli/child.hpp"
#include "tests/cli/csv_rows.hpp"
#include "tests/cli/swept.hpp"
#include "tests/plots/scratch_folder.hpp"

namespace ukemi {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const std::string reported_scenario = R"({"name": "small", "seed": 1,
 "description": "what it is about",
 "job": {"work": "10 h", "deadline": "20 h"},
 "cluster": {"count": 1},
 "market": {"spot_price": "1 USD/h", "on_demand_price": "3 USD/h"},
 "replay": ["on_demand", "greedy"]})";

Ran reported(const fs::path& folder, const std::string& command, std::vector<std::string> options) {
    write_file(folder / "small.json", reported_scenario);
    write_file(folder / "rising.csv", rising_spot);
    options.insert(options.begin(), {command, "small.json", "--traces", "rising.csv"});
    return run_ukemi(folder, options);
}

// A page as XML, with what it says of itself checked on the way.
class Page {
public:
    explicit Page(const fs::path& file) {
        text_ = text_in(file);
        const pugi::xml_parse_result parsed = document_.load_buffer(
            text_.data(), text_.size(),
            pugi::parse_default | pugi::parse_doctype | pugi::parse_ws_pcdata);
        INFO(parsed.description());
        REQUIRE(parsed);
        REQUIRE(std::string(document_.document_element().name()) == "html");
    }

    const std::string& text() const { return text_; }
    const pugi::xml_document& document() const { return document_; }
    std::size_t count(const char* path) const { return document_.select_nodes(path).size(); }
    std::string words(pugi::xml_node node) const {
        std::string words = node.value();
        for (const pugi::xml_node child : node.children()) words += this->words(child);
        return words;
    }
    std::string section(const std::string& title) const { return words(section_node(title)); }

    // The rows of the n-th table of a section: values by column, in full where they are numbers.
    std::vector<std::map<std::string, std::string>> table(const std::string& title,
                                                          std::size_t number = 0) const {
        const auto tables = section_node(title).select_nodes(".//table");
        REQUIRE(tables.size() > number);
        std::vector<std::string> names;
        for (const auto& head : tables[number].node().select_nodes("thead/tr/th")) {
            names.push_back(words(head.node()));
        }
        std::vector<std::map<std::string, std::string>> rows;
        for (const auto& row : tables[number].node().select_nodes("tbody/tr")) {
            const auto cells = row.node().select_nodes("td");
            REQUIRE(cells.size() == names.size());
            auto& values = rows.emplace_back();
            for (std::size_t i = 0; i < names.size(); ++i) {
                const pugi::xml_attribute value = cells[i].node().attribute("data-value");
                values[names[i]] = value ? value.value() : words(cells[i].node());
            }
        }
        return rows;
    }

private:
    pugi::xml_node section_node(const std::string& title) const {
        for (const auto& found : document_.select_nodes("//section")) {
            if (words(found.node().child("h2")) == title) return found.node();
        }
        FAIL("no section " << title);
        return {};
    }

    std::string text_;
    pugi::xml_document document_;
};

// Nothing in the page makes a browser ask for another file.
void check_loads_nothing(const Page& page) {
    for (const char* element :
         {"//link", "//img", "//image", "//iframe", "//object", "//embed", "//base", "//form",
          "//audio", "//video", "//a", "//source", "//foreignObject"}) {
        CAPTURE(element);
        CHECK(page.count(element) == 0);
    }
    CHECK(page.count("//script") == 1);
    CHECK(page.count("//style") == 1);
    for (const auto& found : page.document().select_nodes("//@*")) {
        const std::string name = found.attribute().name();
        const std::string value = found.attribute().value();
        CAPTURE(name, value);
        CHECK(name != "src");
        CHECK(name.rfind("on", 0) != 0);
        if (name.find("href") != std::string::npos) CHECK(value.rfind('#', 0) == 0);
        const std::size_t url = value.find("url(");
        if (url != std::string::npos) CHECK(value.compare(url, 5, "url(#") == 0);
        if (name == "style") CHECK(url == std::string::npos);
    }
    for (const char* path : {"//style", "//script"}) {
        const std::string code = page.words(page.document().select_node(path).node());
        CHECK(code.find("http") == std::string::npos);
        CHECK(code.find("url(") == std::string::npos);
        CHECK(code.find("@import") == std::string::npos);
        // What XML would read otherwise than HTML.
        CHECK(code.find_first_of("<>&") == std::string::npos);
    }
    // Ids are there once, and those that are meant are there.
    std::map<std::string, int> ids;
    for (const auto& found : page.document().select_nodes("//@id")) {
        ++ids[found.attribute().value()];
    }
    for (const auto& [id, times] : ids) CHECK(times == 1);
    for (const auto& found : page.document().select_nodes("//@href")) {
        CHECK(ids.contains(std::string(found.attribute().value()).substr(1)));
    }
}

double number(const std::string& text) { return std::stod(text); }

bool program_is_here(const char* name) {
    return run_program("/bin/sh", "/", {"-c", fmt::format("command -v {}", name)}).code == 0;
}

}  // namespace

TEST_CASE("ukemi report: the tables hold the numbers of summary.csv", "[cli][report]") {
    const ScratchFolder scratch;
    REQUIRE(reported(scratch.path(), "replay", {"--baseline", "on_demand", "--out", "r"}).code ==
            0);
    const Ran ran = run_ukemi(scratch.path(), {"report", "r", "--out", "r.html"});
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    CHECK_THAT(ran.out, Catch::StartsWith("report: r.html ("));
    CHECK(names_in(scratch.path()) == Names{"r", "r.html", "rising.csv", "small.json"});
    const Page page(scratch / "r.html");
    check_loads_nothing(page);

    const auto runs = csv_rows(scratch / "r/summary.csv");
    REQUIRE(runs.size() == 10);  // two policies, five windows
    std::map<std::string, std::vector<double>> costs;
    std::map<std::string, double> hours;
    for (const auto& run : runs) {
        costs[run.at("policy")].push_back(number(run.at("cost_usd")));
        hours[run.at("policy")] += number(run.at("duration_s")) / 3600;
    }
    const auto policies = page.table("Results");
    REQUIRE(policies.size() == 2);
    CHECK(policies[0].at("policy") == "greedy");  // the cheaper
    for (const auto& row : policies) {
        const auto& own = costs.at(row.at("policy"));
        double sum = 0;
        for (const double cost : own) sum += cost;
        CHECK(number(row.at("cost, USD")) == Approx(sum / 5));
        CHECK(number(row.at("time, h")) == Approx(hours.at(row.at("policy")) / 5));
        CHECK(number(row.at("in time, %")) == 100);
        CHECK(number(row.at("runs")) == 5);
    }
    CHECK(number(policies[1].at("± USD")) == 0);
    CHECK_THAT(page.section("Results"), Catch::Contains("over 5 windows of one trace"));

    const auto each = page.table("Runs, one by one");
    REQUIRE(each.size() == runs.size());
    for (std::size_t i = 0; i < runs.size(); ++i) {
        CHECK(each[i].at("policy") == runs[i].at("policy"));
        CHECK(number(each[i].at("cost, USD")) == number(runs[i].at("cost_usd")));
        CHECK(number(each[i].at("over the optimum, %")) ==
              Approx(number(runs[i].at("regret_percent"))));
        CHECK(each[i].at("event hash") == runs[i].at("event_hash"));
    }

    const auto pairs = page.table("Against the baseline");
    const auto stored = csv_rows(scratch / "r/pairs.csv");
    REQUIRE(pairs.size() == 1);
    CHECK(number(pairs[0].at("USD more")) == number(stored[0].at("cost_usd_difference_mean")));
    CHECK(number(pairs[0].at("ratio")) == number(stored[0].at("cost_usd_ratio")));
    CHECK(number(pairs[0].at("pairs")) == 5);

    const std::string asked = page.section("What was asked");
    CHECK_THAT(asked, Catch::Contains("small: what it is about"));
    for (const char* said :
         {"on_demand, greedy", "rising.csv", "apart", "ukemi replay r", "was typed"}) {
        CHECK_THAT(asked, Catch::Contains(said));
    }
    CHECK_THAT(page.section("Scenario"), Catch::Contains("\"deadline\": \"20 h\""));
    const json about = json::parse(text_in(scratch / "r/run.json"));
    CHECK_THAT(page.section("Versions"),
               Catch::Contains(about.at("ukemi").at("build").get<std::string>()));

    // Not a word of it depends on when it was made.
    REQUIRE(run_ukemi(scratch.path(), {"report", "r", "--out", "again.html"}).code == 0);
    CHECK(text_in(scratch / "again.html") == page.text());
}

TEST_CASE("ukemi report: spot, on demand and egress add up to the cost", "[cli][report]") {
    const ScratchFolder scratch;
    const Ran ran = run_ukemi(scratch.path(), {"replay", "two_regions", "--out", "r"});
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    REQUIRE(run_ukemi(scratch.path(), {"report", "r", "--out", "r.html"}).code == 0);
    double egress = 0;
    for (const auto& row : Page(scratch / "r.html").table("Results")) {
        egress += number(row.at("egress, USD"));
        CHECK(number(row.at("spot, USD")) + number(row.at("on demand, USD")) +
                  number(row.at("egress, USD")) ==
              Approx(number(row.at("cost, USD"))));
    }
    CHECK(egress > 1);

    // No run of the other market has any, and there is no column.
    REQUIRE(reported(scratch.path(), "replay", {"--out", "one_region"}).code == 0);
    REQUIRE(run_ukemi(scratch.path(), {"report", "one_region", "--out", "one.html"}).code == 0);
    CHECK_FALSE(Page(scratch / "one.html").table("Results")[0].contains("egress, USD"));
    // Bars of causes are as long as the bill.
    for (const auto& bar : csv_rows(scratch / "r/figures/cost_by_cause.csv")) {
        for (const auto& run : csv_rows(scratch / "r/summary.csv")) {
            if (run.at("policy") != bar.at("policy")) continue;
            CHECK(number(bar.at("total_usd")) == Approx(number(run.at("cost_usd"))));
        }
    }
}

TEST_CASE("ukemi report: the command that it names makes the same results", "[cli][report]") {
    const ScratchFolder scratch;
    REQUIRE(reported(scratch.path(), "replay",
                     {"--vary", "/job/deadline=20 h,30 h", "--seeds", "3..5", "--out", "r"})
                .code == 0);
    REQUIRE(run_ukemi(scratch.path(), {"report", "r", "--out", "r.html"}).code == 0);
    const Page page(scratch / "r.html");
    const std::string line =
        page.words(page.document().select_node("//code[contains(., 'replay')]").node());
    CHECK(line == "ukemi replay r");
    const std::string asked = page.section("What was asked");
    CHECK_THAT(asked, Catch::Contains("/job/deadline=20 h,30 h") && Catch::Contains("3..5"));
    const Ran again = run_program(
        "/bin/sh", scratch.path(),
        {"-c", UKEMI_BINARY + line.substr(std::string("ukemi").size()) + " --out again"});
    INFO(again.err);
    REQUIRE(again.code == 0);
    CHECK(text_in(scratch / "again/summary.csv") == text_in(scratch / "r/summary.csv"));
}

TEST_CASE("ukemi report: text from files is text", "[cli][report]") {
    const ScratchFolder scratch;
    const std::string bad = "</script><script>alert('x')</script><img src=\"http://x/y\"> & ]]>";
    json scenario = json::parse(reported_scenario);
    scenario["name"] = bad;
    scenario["description"] = bad + " <!-- ";
    write_file(scratch / "small.json", scenario.dump());
    const std::string trace = "<svg onload=alert(1)>.csv";
    write_file(scratch / trace, rising_spot);
    const Ran replay =
        run_ukemi(scratch.path(), {"replay", "small.json", "--traces", "<*.csv", "--out", "<i>r"});
    INFO(replay.err);
    REQUIRE(replay.code == 0);
    const Ran ran = run_ukemi(scratch.path(), {"report", "<i>r", "--out", "r.html"});
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    const Page page(scratch / "r.html");
    check_loads_nothing(page);
    CHECK(page.count("//i") == 0);
    CHECK_THAT(page.words(page.document().select_node("//h1").node()),
               Catch::StartsWith("</script><script>alert('x')</script><img"));
    CHECK_THAT(page.section("Runs, one by one"), Catch::Contains("<svg onload=alert(1)>"));
}

TEST_CASE("ukemi report: a file that is there stays unless --force is said", "[cli][report]") {
    const ScratchFolder scratch;
    REQUIRE(reported(scratch.path(), "replay", {"--out", "r"}).code == 0);
    write_file(scratch / "r.html", "mine");
    const Ran refused = run_ukemi(scratch.path(), {"report", "r", "--out", "r.html"});
    CHECK(refused.code == 2);
    CHECK(is_one_line(refused.err));
    CHECK_THAT(refused.err, Catch::Contains("r.html") && Catch::Contains("--force"));
    CHECK(text_in(scratch / "r.html") == "mine");
    REQUIRE(run_ukemi(scratch.path(), {"report", "r", "--out", "r.html", "--force"}).code == 0);
    const Page page(scratch / "r.html");
    CHECK(names_in(scratch.path()) == Names{"r", "r.html", "rising.csv", "small.json"});
}

TEST_CASE("ukemi report: what is no result is refused in a line", "[cli][report]") {
    const ScratchFolder scratch;
    REQUIRE(reported(scratch.path(), "replay", {"--out", "r"}).code == 0);
    fs::create_directories(scratch / "empty");
    fs::copy(scratch / "r", scratch / "damaged", fs::copy_options::recursive);
    write_file(scratch / "damaged/runs.json", "{\"runs\": [{}], \"policies\": []}");
    const std::pair<std::vector<std::string>, std::string> cases[] = {
        {{"nowhere"}, "nowhere: there is no such folder, and no such database"},
        {{"empty"}, "empty: is no results folder: run.json is missing"},
        {{"damaged"}, "damaged: damaged: "},
        {{"small.json"}, "small.json: "},
        {{"r", "r"}, "r: named twice"},
        {{"r", "--baseline", "greedy"},
         "--baseline: is about databases of runs, and all of these are folders"}};
    for (const auto& [arguments, complaint] : cases) {
        std::vector<std::string> all{"report"};
        all.insert(all.end(), arguments.begin(), arguments.end());
        all.insert(all.end(), {"--out", "p.html"});
        const Ran ran = run_ukemi(scratch.path(), all);
        CAPTURE(arguments.front(), ran.err);
        CHECK(ran.code == 2);
        CHECK(is_one_line(ran.err));
        CHECK_THAT(ran.err, Catch::StartsWith("ukemi: " + complaint));
        CHECK_FALSE(fs::exists(scratch / "p.html"));
    }
}

TEST_CASE("ukemi report: without gnuplot there are no figures, and that is said", "[cli][report]") {
    const ScratchFolder scratch;
    REQUIRE(reported(scratch.path(), "replay", {"--out", "r"}).code == 0);
    const Ran ran = run_program("/bin/sh", scratch.path(),
                                {"-c", "PATH=/nowhere; " UKEMI_BINARY " report r --out r.html"});
    CHECK(ran.code == 0);
    const std::string note =
        "gnuplot was not found (Debian package gnuplot-nox): there are no figures here";
    CHECK(ran.err == "figures: r: " + note + "\n");
    const Page page(scratch / "r.html");
    CHECK(page.count("//svg") == 0);
    CHECK_THAT(page.section("Figures"), Catch::Contains(note));
    CHECK(page.table("Results").size() == 2);
}

TEST_CASE("ukemi report: a database has the groups that query prints", "[cli][report]") {
    const ScratchFolder scratch;
    REQUIRE(reported(scratch.path(), "sweep",
                     {"--vary", "/job/deadline=20 h,30h", "--seeds", "1..2", "--out", "runs.db"})
                .code == 0);
    REQUIRE(
        run_ukemi(scratch.path(), {"query", "runs.db", "--baseline", "on_demand", "--csv", "q.csv"})
            .code == 0);
    const Ran ran = run_ukemi(scratch.path(),
                              {"report", "runs.db", "--baseline", "on_demand", "--out", "r.html"});
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    const Page page(scratch / "r.html");
    check_loads_nothing(page);
    std::map<std::string, std::map<std::string, std::string>> expected;
    for (const auto& row : csv_rows(scratch / "q.csv")) {
        expected[row.at("variant") + row.at("policy")] = row;
    }
    const auto groups = page.table("Results");
    REQUIRE(groups.size() == expected.size());
    REQUIRE(groups.size() == 4);
    for (const auto& group : groups) {
        const auto& own = expected.at(group.at("variant") + group.at("policy"));
        CHECK(number(group.at("cost_usd")) == number(own.at("cost_usd_mean")));
        CHECK(number(group.at("duration_s")) == number(own.at("duration_s_mean")));
        CHECK(number(group.at("runs")) == number(own.at("runs")));
    }
    const auto pairs = page.table("Against the baseline");
    REQUIRE(pairs.size() == 2);
    for (const auto& pair : pairs) {
        const auto& own = expected.at(pair.at("variant") + pair.at("policy"));
        CHECK(number(pair.at("USD more")) == number(own.at("cost_usd_difference_mean")));
    }
    const Ran by = run_ukemi(scratch.path(), {"report", "runs.db", "--by", "policy", "--metric",
                                              "spot_h", "--out", "by.html"});
    REQUIRE(by.code == 0);
    const auto rows = Page(scratch / "by.html").table("Results");
    REQUIRE(rows.size() == 2);
    CHECK(rows[0].contains("spot_h"));
    // As query takes it.
    const Ran where =
        run_ukemi(scratch.path(), {"report", "runs.db", "--where", "policy=greedy", "--where",
                                   "/job/deadline=30h", "--out", "w.html"});
    INFO(where.err);
    REQUIRE(where.code == 0);
    const Page some(scratch / "w.html");
    const auto left = some.table("Results");
    REQUIRE(left.size() == 1);
    const auto& whole = expected.at(left[0].at("variant") + "greedy");
    CHECK(number(left[0].at("cost_usd")) == number(whole.at("cost_usd_mean")));
    CHECK_THAT(some.section("What was asked"), Catch::Contains("policy=greedy"));
    CHECK(run_ukemi(scratch.path(),
                    {"report", "runs.db", "--where", "polcy=greedy", "--out", "x.html"})
              .code == 2);
    if (gnuplot_is_here()) CHECK(page.count("//svg") >= 2);
}

TEST_CASE("ukemi report: several results stand side by side", "[cli][report]") {
    const ScratchFolder scratch;
    REQUIRE(reported(scratch.path(), "replay", {"--out", "a"}).code == 0);
    REQUIRE(reported(scratch.path(), "replay", {"--set", "/job/work=8 h", "--out", "b"}).code == 0);
    REQUIRE(reported(scratch.path(), "sweep", {"--out", "c.db"}).code == 0);
    REQUIRE(reported(scratch.path(), "compare", {"--out", "d"}).code == 0);
    const Ran ran = run_ukemi(scratch.path(), {"report", "a", "b", "c.db", "d", "--out", "r.html"});
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    const Page page(scratch / "r.html");
    check_loads_nothing(page);
    const auto costs = page.table("Side by side");
    REQUIRE(costs.size() == 2);
    for (const auto& row : costs) {
        if (row.at("") != "on_demand") continue;
        CHECK(number(row.at("a")) == 30);
        CHECK(number(row.at("b")) == 24);
        CHECK(number(row.at("c.db")) == 30);
        CHECK(number(row.at("d")) == 30);
    }
    CHECK_THAT(page.section("Versions"), Catch::Contains("c.db"));
}

TEST_CASE("ukemi report: schedulers on a cluster of jobs", "[cli][report]") {
    const ScratchFolder scratch;
    REQUIRE(run_ukemi(scratch.path(),
                      {"schedule", shipped("jobs/shared_cluster.json").string(), "--out", "s"})
                .code == 0);
    const Ran ran = run_ukemi(scratch.path(), {"report", "s", "--out", "r.html"});
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    const Page page(scratch / "r.html");
    check_loads_nothing(page);
    const auto rows = page.table("Results");
    const json document = json::parse(text_in(scratch / "s/schedule.json"));
    REQUIRE(rows.size() == document.at("runs").size());
    for (const json& run : document.at("runs")) {
        const auto scheduler = run.at("scheduler").get<std::string>();
        const auto row = std::ranges::find_if(
            rows, [&](const auto& one) { return one.at("scheduler") == scheduler; });
        REQUIRE(row != rows.end());
        CHECK(number(row->at("completion, h")) ==
              Approx(run.at("completion_s_mean").get<double>() / 3600));
        CHECK(number(row->at("late")) == run.at("late").get<double>());
    }
    CHECK_THAT(page.section("What was asked"), Catch::Contains("ukemi schedule s"));
}

TEST_CASE("ukemi report: searchers and what they found", "[cli][report]") {
    const ScratchFolder scratch;
    REQUIRE(run_ukemi(scratch.path(), {"search", "gradient_search", "--full", "--out", "s", "--set",
                                       R"(/searchers=[{"name": "random"}, {"name": "asha"}])"})
                .code == 0);
    const Ran ran = run_ukemi(scratch.path(), {"report", "s", "--out", "r.html"});
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    const Page page(scratch / "r.html");
    check_loads_nothing(page);
    const json document = json::parse(text_in(scratch / "s/search.json"));
    const auto rows = page.table("Results");
    REQUIRE(rows.size() == document.at("means").size());
    REQUIRE(rows.size() == 2);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const json& mean = document.at("means").at(i);
        CHECK(rows[i].at("searcher") == mean.at("searcher").get<std::string>());
        CHECK(number(rows[i].at("metric")) ==
              Approx(mean.at("metric_mean").get<double>()).margin(5e-5));
        CHECK(number(rows[i].at("same winner, %")) ==
              100 * mean.at("same_winner_mean").get<double>());
    }
    CHECK_THAT(page.section("What was asked"), Catch::Contains("ukemi search s"));
    const Ran diff = run_ukemi(scratch.path(), {"diff", "s", "s"});
    CHECK(diff.code == 0);
}

TEST_CASE("ukemi report: simulated steps", "[cli][report]") {
    const ScratchFolder scratch;
    const std::string file = shipped("steps/resnet50_on_p3.json").string();
    REQUIRE(
        run_ukemi(scratch.path(), {"simulate", file, "--vary", "/cluster/count=2,4", "--out", "s"})
            .code == 0);
    const Ran ran = run_ukemi(scratch.path(), {"report", "s", "--out", "s.html"});
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    const Page page(scratch / "s.html");
    check_loads_nothing(page);
    const auto rows = page.table("Results");
    const auto stored = csv_rows(scratch / "s/simulate.csv");
    REQUIRE(rows.size() == 2);
    for (std::size_t i = 0; i < 2; ++i) {
        CHECK(number(rows[i].at("step, ms")) == Approx(1000 * number(stored[i].at("step_s_mean"))));
        CHECK(number(rows[i].at("samples/s")) == number(stored[i].at("samples_per_s")));
    }
    CHECK_THAT(page.section("What was asked"), Catch::Contains("ukemi simulate s"));
}

TEST_CASE("ukemi report: a browser shows it on a telephone, sorts it and prints it",
          "[cli][report]") {
    if (!program_is_here("chromium")) {
        WARN("skipped: chromium is not installed");
        return;
    }
    const ScratchFolder scratch;
    REQUIRE(reported(scratch.path(), "replay",
                     {"--policies", "on_demand,greedy,uniform_progress,time_sliced", "--baseline",
                      "on_demand", "--out", "r"})
                .code == 0);
    REQUIRE(run_ukemi(scratch.path(), {"report", "r", "--out", "r.html"}).code == 0);
    // A page around it, as wide as a telephone, which looks at it and tells what it found.
    write_file(scratch / "probe.html", R"(<html><body>
<iframe id="page" src="r.html" style="width:390px;height:2000px;border:0"></iframe>
<pre id="found"></pre><script>
window.onload = function () {
  var page = document.getElementById("page").contentDocument;
  var head = Array.from(page.querySelectorAll("th")).find(function (one) {
    return one.textContent === "cost, USD"; });
  function policies() {
    return Array.from(head.closest("table").tBodies[0].rows).map(function (row) {
      return row.cells[0].textContent; }); }
  var found = {width: page.documentElement.scrollWidth,
    room: page.documentElement.clientWidth, first: policies()};
  head.click(); found.up = policies();
  head.click(); found.down = policies();
  found.drawn = Array.from(page.querySelectorAll("svg")).map(function (one) {
    return Math.round(one.getBoundingClientRect().width); });
  document.getElementById("found").textContent = JSON.stringify(found);
};</script></body></html>)");
    const std::string browser =
        "chromium --headless --no-sandbox --disable-gpu --allow-file-access-from-files "
        "--user-data-dir=profile ";
    const Ran ran = run_program("/bin/sh", scratch.path(),
                                {"-c", browser + "--virtual-time-budget=10000 --dump-dom "
                                                 "file://$PWD/probe.html 2>/dev/null"});
    REQUIRE(ran.code == 0);
    const std::string begin = "<pre id=\"found\">";
    REQUIRE(ran.out.find(begin) != std::string::npos);
    const std::string text = ran.out.substr(ran.out.find(begin) + begin.size());
    const json found = json::parse(text.substr(0, text.find("</pre>")));
    INFO(found.dump());
    CHECK(found.at("width") == found.at("room"));  // nothing makes the page itself scroll sideways
    CHECK(found.at("first").size() == 4);
    CHECK(found.at("up").back() == "on_demand");
    CHECK(found.at("down").front() == "on_demand");
    if (gnuplot_is_here()) CHECK(found.at("drawn").size() >= 2);
    for (const json& width : found.at("drawn")) {
        CHECK(width.get<int>() > 300);
        CHECK(width.get<int>() <= 390);
    }
    const Ran print =
        run_program("/bin/sh", scratch.path(),
                    {"-c", browser + "--print-to-pdf=r.pdf file://$PWD/r.html >/dev/null 2>&1"});
    REQUIRE(print.code == 0);
    const std::string pdf = text_in(scratch / "r.pdf");
    CHECK(pdf.starts_with("%PDF"));
    CHECK(pdf.size() < 10'000'000);
}

}  // namespace ukemi
