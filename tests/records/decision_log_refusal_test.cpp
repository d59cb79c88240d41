// decision_log_refusal_test.cpp — a damaged or hostile log is an InputError with its line, never
// an abort.
#include <catch2/catch.hpp>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/input_error.hpp"
#include "tests/records/logged_run.hpp"

using namespace ukemi;
using namespace ukemi::records;
using nlohmann::json;

namespace {

std::string complaint(const std::string& text) {
    try {
        (void)replay_decisions(text, "x.jsonl");
    } catch (const InputError& error) {
        return error.what();
    }
    return "accepted";
}

const std::vector<std::string>& good_lines() {
    static const std::vector<std::string> lines = [] {
        RunOptions options;
        options.questions = 12;
        return lines_of(logged_run(options).text);
    }();
    return lines;
}

// What is said of a good log with this value at this place of this line (counted from 1).
std::string says(std::size_t number, const std::string& pointer, const json& value) {
    auto lines = good_lines();
    json line = json::parse(lines.at(number - 1));
    line[json::json_pointer(pointer)] = value;
    lines[number - 1] = line.dump();
    return complaint(text_of(lines));
}

std::string without(std::size_t number, const std::string& key) {
    auto lines = good_lines();
    json line = json::parse(lines.at(number - 1));
    line.erase(key);
    lines[number - 1] = line.dump();
    return complaint(text_of(lines));
}

constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();

}  // namespace

TEST_CASE("damaged log: the undamaged one is fine", "[decision_log]") {
    CHECK(complaint(text_of(good_lines())) == "accepted");
    // Line 1 is the header, 2 a question, 3 what became of it.
    CHECK(json::parse(good_lines()[1])["record"] == "question");
    CHECK(json::parse(good_lines()[2])["record"] == "committed");
}

TEST_CASE("damaged log: empty, cut short, garbage", "[decision_log]") {
    CHECK(complaint("") == "x.jsonl:1:1: empty: expected the header of a decision log");
    const std::string text = text_of(good_lines());
    CHECK_THAT(complaint(text.substr(0, text.size() - 1)),
               Catch::EndsWith("the last line is cut short"));
    auto lines = good_lines();
    lines.insert(lines.begin() + 3, "garbage");
    CHECK_THAT(complaint(text_of(lines)), Catch::StartsWith("x.jsonl:4:1: "));
    lines[3] = "";
    CHECK_THAT(complaint(text_of(lines)), Catch::StartsWith("x.jsonl:4:1: "));
    lines[3] = "[]";
    CHECK(complaint(text_of(lines)) == "x.jsonl:4:1: expected an object");
    lines[3] = R"({"record": "rumour"})";
    CHECK(complaint(text_of(lines)) == "x.jsonl:4:1: unknown record \"rumour\"");
    lines[3] = "{\"record\": \"\xff\"}";
    CHECK_THAT(complaint(text_of(lines)), Catch::StartsWith("x.jsonl:4:1: "));
    lines[3] = std::string(100'000, '[');
    CHECK_THAT(complaint(text_of(lines)), Catch::StartsWith("x.jsonl:4:1: nested too deep"));
    lines[3] = R"({"record": "question", "answers": )" + std::string(100'000, '[') +
               std::string(100'000, ']') + "}";
    CHECK(complaint(text_of(lines)) == "x.jsonl:4:1: nested too deep");
}

TEST_CASE("damaged log: cut anywhere it is refused or a shorter log", "[decision_log]") {
    const std::string text = text_of(good_lines());
    for (std::size_t size = 0; size < text.size(); size += 1 + size % 53) {
        CAPTURE(size);
        const std::string cut = text.substr(0, size);
        const std::string said = complaint(cut);
        if (cut.ends_with('\n')) {
            CHECK(said == "accepted");
        } else {
            CHECK_THAT(said, Catch::StartsWith("x.jsonl:"));
        }
    }
}

TEST_CASE("damaged log: lines out of place", "[decision_log]") {
    auto lines = good_lines();
    lines.insert(lines.begin() + 1, lines[0]);
    CHECK(complaint(text_of(lines)) == "x.jsonl:2:1: a second header");
    lines = good_lines();
    lines.erase(lines.begin());
    CHECK(complaint(text_of(lines)) == "x.jsonl:1:1: expected the header of a decision log");
    lines = good_lines();
    lines.erase(lines.begin() + 2);
    CHECK(complaint(text_of(lines)) == "x.jsonl:3:1: a question before the last Plan was settled");
    lines = good_lines();
    lines.insert(lines.begin() + 3, lines[2]);
    CHECK(complaint(text_of(lines)) == "x.jsonl:4:1: a Plan that nobody proposed");
    CHECK(says(3, "/version", 7) == "x.jsonl:3:1: expected version 1");
    CHECK(says(2, "/seen/now_ns", hours(50).raw()) == "x.jsonl:4:1: time runs backwards");
}

TEST_CASE("damaged log: a header that cannot be right", "[decision_log]") {
    CHECK(says(1, "/version", 2) == "x.jsonl:1:1: expected version 1");
    CHECK(without(1, "version") == "x.jsonl:1:1: expected version 1");
    CHECK(says(1, "/mood", "good") == "x.jsonl:1:1: unknown key \"mood\"");
    CHECK(says(1, "/seed", -1) == "x.jsonl:1:1: \"seed\": expected a smaller number");
    CHECK_THAT(says(1, "/questions", "deciding"),
               Catch::StartsWith("x.jsonl:1:1: holds only the questions that led to a change"));
    CHECK(says(1, "/oracle", true) ==
          "x.jsonl:1:1: its policies asked an oracle, which a log does not hold");
    CHECK(says(1, "/samples_total", 0) == "x.jsonl:1:1: no samples to train on");
    CHECK(says(1, "/samples_per_epoch", -1) == "x.jsonl:1:1: no samples to train on");
    CHECK(without(1, "plan") == "x.jsonl:1:1: missing \"plan\"");
    CHECK(says(1, "/plan/workers_max", 0) == "x.jsonl:1:1: the first Plan is not possible");
    CHECK(says(1, "/plan/fleet/0/zone", 99) == "x.jsonl:1:1: the first Plan is not possible");
    CHECK(says(1, "/plan/checkpoint_interval_ns", 0) ==
          "x.jsonl:1:1: the first Plan is not possible");
    CHECK(says(1, "/plan/batch_per_learner", huge) ==
          "x.jsonl:1:1: the first Plan is not possible");
    CHECK(says(1, "/capabilities/workers_min", 9) ==
          "x.jsonl:1:1: fewer instances than the job needs");
    CHECK_THAT(says(1, "/capabilities/knobs", json::array()),
               Catch::StartsWith("x.jsonl:1:1: policy \"greedy\" turns the knob \"market\""));
    CHECK(says(1, "/profile/throughput", json::array()) ==
          "x.jsonl:1:1: \"throughput\": expected at least one point");
}

TEST_CASE("damaged log: policies that cannot be made", "[decision_log]") {
    CHECK(says(1, "/policies/0/name", "gredy") ==
          "x.jsonl:1:1: no policy \"gredy\" (did you mean \"greedy\"?)");
    CHECK(says(1, "/policies/0/name", "ideal_no_overhead") ==
          "x.jsonl:1:1: policy \"ideal_no_overhead\" asks an oracle");
    CHECK(says(1, "/policies/1/name", "greedy") ==
          "x.jsonl:1:1: policies \"greedy\" and \"greedy\" both turn market");
    CHECK(says(1, "/policies/0/parameters/safety_net", "none") ==
          "x.jsonl:1:1: at /safety_net: expected one of simple, strong, found \"none\"");
    CHECK_THAT(says(1, "/policies/0/parameters", 7), Catch::StartsWith("x.jsonl:1:1"));
    CHECK(says(1, "/policies/0/colour", 7) == "x.jsonl:1:1: unknown key \"colour\"");
}

TEST_CASE("damaged log: an Observation that no world can have seen", "[decision_log]") {
    CHECK(says(2, "/seen/workers_min", 0) ==
          "x.jsonl:2:1: \"workers_min\": expected a number above zero");
    CHECK(says(2, "/seen/workers_min", 2) ==
          "x.jsonl:2:1: \"workers_min\": expected 1 as in the header, found 2");
    CHECK(says(2, "/seen/samples_total", 5) ==
          "x.jsonl:2:1: \"samples_total\": expected 172800000000000 as in the header, found 5");
    CHECK(says(2, "/seen/now_ns", -1) == "x.jsonl:2:1: \"now_ns\": expected no negative time");
    CHECK(says(2, "/seen/deadline_ns", 0) == "x.jsonl:2:1: no deadline, which its policies need");
    CHECK(says(2, "/seen/spot_loss_events", -1) ==
          "x.jsonl:2:1: \"spot_loss_events\": expected no negative number");
    CHECK(says(2, "/event/hook", "on_whim") == "x.jsonl:2:1: \"hook\": expected a known name");
    CHECK(without(2, "seen") == "x.jsonl:2:1: missing \"seen\"");
    CHECK(without(2, "answers") == "x.jsonl:2:1: missing \"answers\"");
}

TEST_CASE("damaged log: extreme values within the rules do not stop the program",
          "[decision_log]") {
    const std::int64_t long_time = days(36'600).raw();
    for (const auto& [pointer, value] : std::vector<std::pair<std::string, std::int64_t>>{
             {"/seen/deadline_ns", 1},
             {"/seen/deadline_ns", long_time},
             {"/seen/decision_interval_ns", long_time},
             {"/seen/samples_done", huge},
             {"/seen/samples_safe", huge},
             {"/seen/spot_time_ns", long_time},
             {"/seen/spot_loss_events", 1'000'000'000},
             {"/seen/spot_capacity", std::numeric_limits<std::int32_t>::max()},
             {"/seen/transition_remaining_ns", long_time}}) {
        CAPTURE(pointer, value);
        CHECK(says(2, pointer, value) == "accepted");
    }
    const std::size_t last = good_lines().size();
    CHECK(says(last, "/seen/now_ns", long_time) == "accepted");
    const std::string profile = "/profile/";
    for (const char* key : {"provisioning_ns", "restart_ns", "checkpoint_ns", "restore_ns"}) {
        CAPTURE(key);
        CHECK(says(1, profile + key, days(366).raw()) == "accepted");
    }
    CHECK(says(1, "/plan/checkpoint_interval_ns", 1) == "accepted");
    CHECK(says(1, "/plan/workers_max", 2'000'000'000) == "accepted");
    CHECK(says(1, "/profile/throughput/0/per_ns", days(365).raw()) == "accepted");
    CHECK(says(1, "/profile/throughput/0/steps", 1'000'000) == "accepted");
}

TEST_CASE("damaged log: random damage is an InputError or a different log",
          "[decision_log][property]") {
    const std::string text = text_of(good_lines());
    RandomStream random(1, "test/damage");
    std::int64_t refused = 0;
    for (int round = 0; round < 1500; ++round) {
        std::string damaged = text;
        for (std::int64_t changes = random.integer(1, 3); changes > 0; --changes) {
            const auto place = static_cast<std::size_t>(random.integer(0, std::ssize(text) - 1));
            // Digits by digits most of the time: other bytes hardly get past the parser.
            const bool digit = damaged[place] >= '0' && damaged[place] <= '9';
            damaged[place] =
                static_cast<char>(digit ? random.integer('0', '9') : random.integer(1, 255));
        }
        CAPTURE(round);
        const std::string said = complaint(damaged);
        refused += said != "accepted";
        CHECK((said == "accepted" || said.starts_with("x.jsonl:")));
    }
    CHECK(refused > 100);
}
