// config_reader_test.cpp — every question that a reader can be asked, and every way it refuses.
#include "base/config_reader.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/complaint_list.hpp"
#include "base/key_notes.hpp"

using namespace ukemi;
using Names = std::vector<std::string>;

namespace {

constexpr std::array<std::string_view, 3> orders{"fifo", "srtf", "fair_share"};

ConfigReader reader(std::string_view text) { return ConfigReader::from_text(text, "s.json"); }

std::string complaint(std::string_view text, const std::function<void(ConfigReader&)>& read) {
    try {
        ConfigReader config = reader(text);
        read(config);
    } catch (const InputError& error) {
        return error.what();
    }
    return "accepted";
}

}  // namespace

TEST_CASE("config: gives what is written", "[config]") {
    ConfigReader config = reader(R"({
        "name": "a", "order": "srtf", "fast": true, "count": 3, "low": -9223372036854775808,
        "share": 0.25, "whole": 1, "notice": "0.1 h", "bid": "3.06 USD/h",
        "speed": "1.2e2 samples/s", "zones": ["x", ""], "jobs": [{"id": 1}, {"id": 2}],
        "market": {"kind": "spot"}})");
    CHECK(config.text("name") == "a");
    CHECK(config.one_of("order", orders) == "srtf");
    CHECK(config.flag("fast", false));
    CHECK(config.integer("count", 1, 10) == 3);
    CHECK(config.integer("low", INT64_MIN, 0) == INT64_MIN);
    CHECK(config.number("share", 0, 1) == 0.25);
    CHECK(config.number("whole", 0, 1) == 1);  // an integer is a number too, up to the bound
    CHECK(config.duration("notice") == whole_seconds(360));
    CHECK(config.price("bid") == Price::of(3'060'000'000));
    CHECK(config.rate("speed", "samples/s") == 120);
    CHECK(config.texts("zones") == Names{"x", ""});
    std::vector<ConfigReader> jobs = config.objects("jobs");
    REQUIRE(jobs.size() == 2);
    CHECK(jobs[1].integer("id", 0, 9) == 2);
    CHECK(jobs[1].path() == "/jobs/1");
    auto market = config.object_if_present("market");
    REQUIRE(market.has_value());
    CHECK(market->keys() == Names{"kind"});
    CHECK_FALSE(config.object_if_present("cluster").has_value());
    CHECK(config.has("name"));
    CHECK_FALSE(config.has("nam"));
    CHECK(config.path() == "");
    CHECK(config.file() == "s.json");
    config.finish();
}

TEST_CASE("config: an absent optional key has its default, a present one is checked", "[config]") {
    ConfigReader nothing = reader("{}");
    CHECK(nothing.text("name", "x") == "x");
    CHECK(nothing.one_of("order", orders, "fifo") == "fifo");
    CHECK(nothing.flag("fast", true));
    CHECK(nothing.integer("count", 1, 10, 5) == 5);
    CHECK(nothing.number("share", 0, 1, 0.5) == 0.5);
    CHECK(nothing.duration("notice", minutes(2)) == minutes(2));
    CHECK(nothing.price("bid", dollars_per_hour(3)) == dollars_per_hour(3));

    const auto refused = [](std::string_view text, const std::function<void(ConfigReader&)>& read) {
        return complaint(text, read).starts_with("s.json: at /a: expected");
    };
    CHECK(refused(R"({"a": 1})", [](auto& c) { c.text("a", "x"); }));
    CHECK(refused(R"({"a": "x"})", [](auto& c) { c.one_of("a", orders, "fifo"); }));
    CHECK(refused(R"({"a": 1})", [](auto& c) { c.flag("a", true); }));
    CHECK(refused(R"({"a": 11})", [](auto& c) { c.integer("a", 1, 10, 5); }));
    CHECK(refused(R"({"a": 2})", [](auto& c) { c.number("a", 0, 1, 0.5); }));
    CHECK(refused(R"({"a": "2"})", [](auto& c) { c.duration("a", minutes(2)); }));
    CHECK(refused(R"({"a": "2"})", [](auto& c) { c.price("a", Price{}); }));
    CHECK(refused(R"({"a": null})", [](auto& c) { c.object_if_present("a"); }));
}

TEST_CASE("config: only an integer in range is an integer", "[config]") {
    const std::string found =
        GENERATE("2.7", "2.0", "true", "0", "65537", "-1", "1e2", "\"3\"", "null", "[1]",
                 "9223372036854775808", "18446744073709551615", "99999999999999999999");
    CAPTURE(found);
    const std::string shown = found == "1e2"                    ? "100.0"
                              : found == "99999999999999999999" ? "1e+20"
                                                                : found;
    CHECK(complaint("{\"a\": " + found + "}", [](auto& c) { c.integer("a", 1, 65'536); }) ==
          "s.json: at /a: expected an integer from 1 to 65536, found " + shown);
}

TEST_CASE("config: only a number in range is a number", "[config]") {
    const std::string found = GENERATE("-0.001", "-1", "1.5", "2", "true", "\"0.5\"", "null");
    CAPTURE(found);
    CHECK(complaint("{\"a\": " + found + "}", [](auto& c) { c.number("a", 0, 1); }) ==
          "s.json: at /a: expected a number from 0 to 1, found " + found);
    for (const std::string end : {"0", "1", "0.0", "1.0"}) {  // both ends are in it
        CHECK(complaint("{\"a\": " + end + "}", [](auto& c) { c.number("a", 0, 1); }) ==
              "accepted");
    }
}

TEST_CASE("config: an open range is described by its one bound", "[config]") {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const auto integer = [](std::int64_t min, std::int64_t max) {
        return complaint(R"({"a": "x"})", [=](auto& c) { c.integer("a", min, max); });
    };
    CHECK(integer(1, INT64_MAX) == "s.json: at /a: expected an integer of at least 1, found \"x\"");
    CHECK(integer(INT64_MIN, 1) == "s.json: at /a: expected an integer of at most 1, found \"x\"");
    CHECK(integer(INT64_MIN, INT64_MAX) == "s.json: at /a: expected an integer, found \"x\"");
    const auto number = [](double min, double max) {
        return complaint(R"({"a": "x"})", [=](auto& c) { c.number("a", min, max); });
    };
    CHECK(number(0, 0.5) == "s.json: at /a: expected a number from 0 to 0.5, found \"x\"");
    CHECK(number(0, infinity) == "s.json: at /a: expected a number of at least 0, found \"x\"");
    CHECK(number(-infinity, 2) == "s.json: at /a: expected a number of at most 2, found \"x\"");
    CHECK(number(-infinity, infinity) == "s.json: at /a: expected a number, found \"x\"");
}

TEST_CASE("config: each mistake is reported with its file, its path and what was found",
          "[config]") {
    struct Case {
        std::string text;
        std::function<void(ConfigReader&)> read;
        std::string complaint;
    };
    const Case sample = GENERATE(values<Case>({
        {"{}", [](auto& c) { c.text("a"); }, "s.json: at /: missing key \"a\""},
        {R"({"dead_line": 1})", [](auto& c) { c.duration("deadline"); },
         "s.json: at /: missing key \"deadline\"; there is \"dead_line\""},
        {R"({"job": {}})", [](auto& c) { c.object("job").text("name"); },
         "s.json: at /job: missing key \"name\""},
        {R"({"a": 3})", [](auto& c) { c.text("a"); }, "s.json: at /a: expected text, found 3"},
        {R"({"a": "\u001b[31m"})", [](auto& c) { c.text("a"); },
         "s.json: at /a: expected text without control characters, found \"\\x1b[31m\""},
        {R"({"a": ["x", "y\n"]})", [](auto& c) { c.texts("a"); },
         "s.json: at /a/1: expected text without control characters, found \"y\\n\""},
        {R"({"a": 3})", [](auto& c) { c.object("a"); },
         "s.json: at /a: expected an object, found 3"},
        {R"({"a": {}})", [](auto& c) { c.objects("a"); },
         "s.json: at /a: expected a list of objects, found {}"},
        {R"({"a": [{}, 1]})", [](auto& c) { c.objects("a"); },
         "s.json: at /a/1: expected an object, found 1"},
        {R"({"a": "x"})", [](auto& c) { c.texts("a"); },
         "s.json: at /a: expected a list of texts, found \"x\""},
        {R"({"a": ["x", 2]})", [](auto& c) { c.texts("a"); },
         "s.json: at /a/1: expected text, found 2"},
        {R"({"a": 1})", [](auto& c) { c.flag("a", false); },
         "s.json: at /a: expected true or false, found 1"},
        {R"({"a": "fare_share"})", [](auto& c) { c.one_of("a", orders); },
         "s.json: at /a: expected one of fifo, srtf, fair_share, found \"fare_share\" (did you "
         "mean "
         "\"fair_share\"?)"},
        {R"({"a": 1})", [](auto& c) { c.one_of("a", orders); },
         "s.json: at /a: expected one of fifo, srtf, fair_share, found 1"},
        {R"({"a": "90"})", [](auto& c) { c.duration("a"); },
         "s.json: at /a: expected a duration such as \"15 min\" (ns, us, ms, s, min, h, d), found "
         "\"90\""},
        {R"({"a": 90})", [](auto& c) { c.duration("a"); },
         "s.json: at /a: expected a duration such as \"15 min\" (ns, us, ms, s, min, h, d), found "
         "90"},
        {R"({"a": "0.1 ns"})", [](auto& c) { c.duration("a"); },
         "s.json: at /a: expected a duration in whole nanoseconds, found \"0.1 ns\""},
        {R"({"a": 3.06})", [](auto& c) { c.price("a"); },
         "s.json: at /a: expected a price such as \"3.06 USD/h\", found 3.06"},
        {R"({"a/b": "-3 USD/h"})", [](auto& c) { c.price("a/b"); },
         "s.json: at /a~1b: expected a price such as \"3.06 USD/h\", found \"-3 USD/h\""},
        {R"({"a": 1e999})", [](auto& c) { c.number("a", 0, 1); },
         "s.json:1:11: number overflow parsing '1e999'"},
        {R"({"job": {"b": 1}})", [](auto& c) { c.object("job").fail("b", "is odd"); },
         "s.json: at /job/b: is odd"},
        {"{}", [](auto& c) { c.fail("", "is odd"); }, "s.json: at /: is odd"},
    }));
    CHECK(complaint(sample.text, sample.read) == sample.complaint);
}

TEST_CASE("config: a rate is above zero and in its unit", "[config]") {
    const std::string found = GENERATE("120", "120 samples", "0 samples/s", "-1 samples/s",
                                       "inf samples/s", "nan samples/s", "1e400 samples/s",
                                       "samples/s", "", "120  samples/s", " 1 samples/s");
    CHECK(complaint("{\"a\": \"" + found + "\"}", [](auto& c) { c.rate("a", "samples/s"); }) ==
          "s.json: at /a: expected a rate above 0 such as \"120 samples/s\", found \"" + found +
              '"');
    CHECK(complaint(R"({"a": 3})", [](auto& c) { c.rate("a", "steps/s"); }) ==
          "s.json: at /a: expected a rate above 0 such as \"120 steps/s\", found 3");
}

TEST_CASE("config: a key that nobody read is an error", "[config]") {
    const auto finish = [](ConfigReader& c) {
        c.integer("deadline", 0, 9, 1);
        c.finish();
    };
    CHECK(complaint(R"({"deadline": 1})", finish) == "accepted");
    CHECK(complaint("{}", finish) == "accepted");
    CHECK(complaint(R"({"dead_line": 1})", finish) ==
          "s.json: at /: unknown key \"dead_line\" (did you mean \"deadline\"?)");
    CHECK(complaint(R"({"colour": 1})", finish) == "s.json: at /: unknown key \"colour\"");
    CHECK(complaint(R"({"a\nb": 1})", finish) == "s.json: at /: unknown key \"a\\nb\"");
    const auto in_job = [](ConfigReader& c) { c.objects("jobs").at(0).finish(); };
    CHECK(complaint(R"({"jobs": [{"x": 1}]})", in_job) == "s.json: at /jobs/0: unknown key \"x\"");
    // A key that was only asked for is a name that may have been meant.
    const auto ask_and_finish = [](ConfigReader& c) {
        CHECK_FALSE(c.has("deadline"));
        c.finish();
    };
    CHECK(complaint(R"({"dead_line": 1})", ask_and_finish) ==
          "s.json: at /: unknown key \"dead_line\" (did you mean \"deadline\"?)");
    // has() and keys() are questions about a key; neither reads it.
    const auto only_ask = [](ConfigReader& c) {
        CHECK(c.has("x"));
        CHECK(c.keys() == Names{"x"});
        c.finish();
    };
    CHECK(complaint(R"({"x": 1})", only_ask) == "s.json: at /: unknown key \"x\"");
}

TEST_CASE("config: a key of another form says with what it goes", "[config]") {
    const auto read = [](ConfigReader& c) {
        c.expect_absent({"size", "first"}, "goes with \"rule\": \"filled\"");
        c.text("rule", "one");
        c.finish();
    };
    CHECK(complaint(R"({"rule": "one"})", read) == "accepted");
    CHECK(complaint(R"({"rule": "one", "first": 3})", read) ==
          "s.json: at /first: goes with \"rule\": \"filled\"");
}

TEST_CASE("config: what is wrong with a named file is said of its key", "[config]") {
    const auto read = [](ConfigReader& c) {
        const std::string name = c.text("costs");
        const std::string text = c.of_file("costs", [&]() -> std::string {
            if (name == "bad.json") throw InputError(name, "/a", "expected 1, found 2");
            return name + "!";
        });
        CHECK(text == "good.json!");
    };
    CHECK(complaint(R"({"costs": "good.json"})", read) == "accepted");
    CHECK(complaint(R"({"costs": "bad.json"})", read) ==
          "s.json: at /costs: bad.json: at /a: expected 1, found 2");
}

TEST_CASE("config: the resolved document has every default and reads back the same", "[config]") {
    const auto read = [](ConfigReader& c) {
        c.integer("seed", 0, 9, 7);
        c.one_of("order", orders, "fifo");
        for (ConfigReader& job : c.objects("jobs")) {
            job.duration("notice", minutes(2));
            job.text("a/b", "~");
            job.flag("fast", false);
        }
        if (auto market = c.object_if_present("market")) {
            market->price("bid", Price::of(3'060'000'000));
            market->number("share", 0, 1, 0.1);
        }
        c.object_if_present("cluster");
        // Defaults outside the range say "not set"; the document cannot.
        c.integer("limit", 1, 9, -1);
        c.number("rate_max", 0, 9, std::numeric_limits<double>::infinity());
        c.finish();
    };
    ConfigReader config =
        reader(R"({"order": "srtf", "market": {}, "jobs": [{"notice": "1.5 min"}, {}]})");
    read(config);
    const std::string resolved = R"({
  "jobs": [
    {
      "a/b": "~",
      "fast": false,
      "notice": "1.5 min"
    },
    {
      "a/b": "~",
      "fast": false,
      "notice": "2 min"
    }
  ],
  "market": {
    "bid": "3.06 USD/h",
    "share": 0.1
  },
  "order": "srtf",
  "seed": 7
})";
    CHECK(config.resolved() == resolved);
    ConfigReader again = reader(resolved);
    read(again);
    CHECK(again.resolved() == resolved);
    CHECK_FALSE(config.has("seed"));  // what was written stays what was written
}

TEST_CASE("config: a long value is shortened in a complaint", "[config]") {
    const auto text = [](ConfigReader& c) { c.integer("a", 0, 1); };
    CHECK(complaint("{\"a\": \"" + std::string(1'000, 'x') + "\"}", text) ==
          "s.json: at /a: expected an integer from 0 to 1, found \"" + std::string(36, 'x') +
              "...");
    CHECK(complaint(R"({"a": {"b":1,"c":1,"d":1,"e":1,"f":1}})", text) ==
          "s.json: at /a: expected an integer from 0 to 1, found an object of 5 keys");
    CHECK(complaint("{\"a\": [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]}", text) ==
          "s.json: at /a: expected an integer from 0 to 1, found a list of 17 elements");
}

TEST_CASE("config: collected, every mistake of a document is one line, in the order of reading",
          "[config]") {
    const auto all = [](std::string_view text) {
        return complaint(text, [](ConfigReader& c) {
            ComplaintList list(c.file());
            list.attempt([&] {
                c.text("name");
                c.integer("count", 1, 9);
                c.duration("deadline");
                c.one_of("order", orders, "fifo");
                c.price("bid");
            });
            list.attempt([&] {
                ConfigReader job = c.object("job");
                if (job.number("share", 0, 1) > 0.5) job.fail("share", "is too much beside others");
                job.finish();
            });
            c.finish();
            list.throw_all();
        });
    };
    CHECK(all(R"({"name": "a", "count": 1, "deadline": "1 h", "bid": "$1/h",
                  "job": {"share": 0}})") == "accepted");
    CHECK(
        all(R"({"nam": "a", "count": 10, "deadline": "2 hoers", "order": "fair_shar", "bid": 3,
                  "job": {"share": 0.7, "x": 1}})") ==
        "s.json: at /: missing key \"name\"; there is \"nam\"\n"
        "s.json: at /count: expected an integer from 1 to 9, found 10\n"
        "s.json: at /deadline: expected a duration such as \"15 min\" (ns, us, ms, s, min, h, d), "
        "found \"2 hoers\"\n"
        "s.json: at /order: expected one of fifo, srtf, fair_share, found \"fair_shar\" (did you "
        "mean \"fair_share\"?)\n"
        "s.json: at /bid: expected a price such as \"3.06 USD/h\", found 3\n"
        "s.json: at /job/share: is too much beside others");
    // What follows from a value that stands in for another is no complaint of its own.
    CHECK(all(R"({"name": "a", "count": 1, "deadline": "1 h", "bid": "$1/h",
                  "job": {"share": "much"}})") ==
          "s.json: at /job/share: expected a number from 0 to 1, found \"much\"");
}

TEST_CASE("config: collected, ten mistakes are named and the others counted", "[config]") {
    CHECK(complaint("{}", [](ConfigReader& c) {
              ComplaintList list(c.file());
              for (char key = 'a'; key < 'a' + 13; ++key) c.text(std::string(1, key));
              list.throw_all();
          }).ends_with("s.json: at /: missing key \"j\"\nand 3 more"));
}

TEST_CASE("config: an exploration finds the keys that are only asked about", "[config]") {
    const std::vector<std::string> examples{R"({"count": 2})"};
    const std::vector<KeyNote> notes = keys_of(examples, [](ConfigReader& c) {
        c.integer("count", 1, 9);
        if (c.one_of("order", orders, "fifo") == "fair_share") c.number("share", 0, 1, 0.5);
        if (c.has("deadline")) {
            c.duration("deadline");
            note_limits(c, "deadline", "from 1 min to 1 h");
        }
        if (auto market = c.object_if_present("market")) {
            for (ConfigReader& zone : market->objects("zones")) zone.text("name");
            ConfigReader sizes = market->object("sizes");
            for (const std::string& size : sizes.keys()) sizes.rate(size, "samples/s");
        }
    });
    std::vector<std::string> paths;
    for (const KeyNote& note : notes) paths.push_back(note.path);
    CHECK(paths == Names{"/count", "/deadline", "/market", "/market/sizes", "/market/sizes/*",
                         "/market/zones", "/market/zones/*", "/market/zones/*/name", "/order",
                         "/share"});
    CHECK(notes[0].required);
    CHECK(notes[0].most == 9);
    CHECK_FALSE(notes[1].required);
    CHECK(notes[1].limits == "from 1 min to 1 h");
    CHECK(notes[4].unit == "samples/s");
    CHECK(notes[5].listed);
    CHECK(notes[8].names == Names{"fifo", "srtf", "fair_share"});
    CHECK(notes[8].otherwise == "\"fifo\"");
    CHECK(notes[9].otherwise == "0.5");
}
