// published_batches_test.cpp — what was published and recorded of batches and learning rates, asked
// of `ukemi compare` as a user asks it. Each row is printed with its role, and what somebody would
// guess who has no law.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/cli/child.hpp"
#include "tests/cli/published_rows.hpp"
#include "tests/scratch_folder.hpp"

namespace ukemi {
namespace {

struct Question {
    const char* scenario;
    std::string policies;
    std::vector<std::string> set = {};
};

struct Answer {
    double samples = 0;
    double steps = 0;
    double error_percent = 0;  // 100 (1 − accuracy)
    bool reached = false;
};

// By policy list.
std::map<std::string, Answer> compared(const Question& question) {
    const ScratchFolder scratch;
    const auto file =
        std::filesystem::path(UKEMI_SOURCE_DIR) / "scenarios/batch" / question.scenario;
    std::vector<std::string> arguments{"compare", file.string(), "--json", "--policies",
                                       question.policies};
    for (const std::string& one : question.set) {
        arguments.insert(arguments.end(), {"--set", one});
    }
    const Ran ran = run_ukemi(scratch.path(), arguments);
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    std::map<std::string, Answer> answers;
    const auto document = nlohmann::json::parse(ran.out);
    for (const auto& one : document.at("candidates")) {
        const auto mean = [&](const char* quantity) {
            return one.contains(quantity) ? one.at(quantity).at("mean").get<double>() : 0.0;
        };
        answers[one.at("policy").get<std::string>()] = {mean("samples"), mean("steps"),
                                                        100 * (1 - mean("accuracy")),
                                                        one.at("reached") == one.at("runs")};
    }
    return answers;
}

constexpr double ninety_epochs = 115'305'030;
constexpr const char* seen = "chosen after seeing";

std::string lists(const std::vector<std::int64_t>& batches, std::string_view rates) {
    std::string text;
    for (const std::int64_t batch : batches) {
        text += fmt::format("{}constant_batch:{}+{}", text.empty() ? "" : ",", batch, rates);
    }
    return text;
}

}  // namespace

TEST_CASE("published batches: Goyal's recipe from 256 to 65536, after 90 epochs",
          "[cli][published]") {
    // Goyal et al., arXiv:1706.02677, table 1 and fig. 1.
    const std::vector<std::pair<std::int64_t, double>> published{
        {256, 23.60},  {512, 23.48},    {1024, 23.53},   {2048, 23.49},  {4096, 23.56},
        {8192, 23.74}, {16'384, 24.79}, {32'768, 27.55}, {65'536, 33.96}};
    std::vector<std::int64_t> batches;
    for (const auto& [batch, _] : published) batches.push_back(batch);
    const auto answers = compared({"goyal.json", lists(batches, "scaled_rate")});
    std::vector<PublishedRow> rows;
    for (const auto& [batch, error] : published) {
        const bool fitted = batch == 256 || batch == 16'384 || batch == 32'768;
        const Answer& ours = answers.at(lists({batch}, "scaled_rate"));
        CHECK(ours.samples == Approx(ninety_epochs).epsilon(1e-3));
        rows.push_back({fmt::format("batch {}", batch), error, ours.error_percent,
                        fitted ? "fitted" : seen, 23.60, batch == 65'536 ? 0.1 : 0.02});
    }
    check_published("Goyal et al.: top-1 error after 90 epochs, %", rows);
}

TEST_CASE(
    "published batches: the same accuracy takes the same 90 epochs up to 8192, and not beyond",
    "[cli][published]") {
    const std::vector<std::int64_t> batches{256, 512, 1024, 2048, 4096, 8192};
    const auto answers =
        compared({"goyal.json", lists(batches, "scaled_rate"), {"/learning/until=target"}});
    std::vector<PublishedRow> rows;
    for (const std::int64_t batch : batches) {
        rows.push_back({fmt::format("batch {}", batch), ninety_epochs,
                        answers.at(lists({batch}, "scaled_rate")).samples,
                        batch == 256 ? "typed in" : seen, ninety_epochs});
    }
    check_published("Goyal et al.: samples to the accuracy of batch 256", rows);
    const auto beyond = compared({"goyal.json",
                                  lists({16'384, 65'536}, "scaled_rate"),
                                  {"/learning/until=target", "/job/give_up_after=\"60 d\""}});
    for (const auto& [_, answer] : beyond) {
        CHECK((!answer.reached || answer.samples > 1.5 * ninety_epochs));
    }
    const auto shipped =
        compared({"batch_schedules.json", lists({256, 1024, 8192}, "scaled_rate")});
    rows.clear();
    for (const auto& [name, answer] : shipped) {
        rows.push_back({name, ninety_epochs, answer.samples, seen, ninety_epochs});
    }
    check_published("The same in batch_schedules.json, drops after 30 and 60 epochs", rows);
}

TEST_CASE("published batches: Goyal's other rates at 256 and 8192", "[cli][published]") {
    struct Case {
        const char* name;
        std::int64_t batch;
        double error;
        std::vector<std::string> set;
        const char* role;
    };
    const std::string of = "/policy_parameters/scaled_rate/";
    const std::vector<Case> cases{
        {"256, rate 0.05", 256, 23.92, {of + "times=0.5"}, "fitted"},
        {"256, rate 0.2", 256, 23.68, {of + "times=2"}, "fitted"},
        {"8192, rates halved", 8192, 24.27, {of + "times=0.5"}, seen},
        {"8192, rates doubled", 8192, 24.05, {of + "times=2"}, seen},
        {"8192, square root", 8192, 26.22, {of + "rule=\"square_root\""}, seen},
        {"8192, not scaled", 8192, 41.67, {of + "rule=\"fixed\""}, "fitted"},
        {"8192, no warm-up", 8192, 24.84, {of + "warm_up_epochs=0"}, seen}};
    std::vector<PublishedRow> rows;
    for (const Case& one : cases) {
        const std::string list = lists({one.batch}, "scaled_rate");
        rows.push_back({one.name, one.error,
                        compared({"goyal.json", list, one.set}).at(list).error_percent, one.role,
                        23.60, 0.05});
    }
    check_published("Goyal et al., tables 2 and 3: top-1 error after 90 epochs, %", rows);
}

TEST_CASE("published batches: AdaScale's steps, and linear scaling beside it", "[cli][published]") {
    // Johnson et al., ICML'20, table 2.
    const std::vector<std::pair<std::int64_t, double>> steps{
        {4096, 33'200}, {8192, 18'700}, {16'384, 11'200}, {32'768, 7290}};
    const std::vector<double> linear{23.7, 23.9, 24.4, 26.7};
    const std::vector<std::int64_t> batches{4096, 8192, 16'384, 32'768};
    const auto ada =
        compared({"goyal.json", lists(batches, "ada_scale"), {"/learning/until=target"}});
    const auto scaled = compared({"goyal.json", lists(batches, "scaled_rate")});
    std::vector<PublishedRow> rows;
    std::vector<PublishedRow> errors;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        const auto& [batch, published] = steps[i];
        const std::string name = fmt::format("batch {}", batch);
        rows.push_back({name, published, ada.at(lists({batch}, "ada_scale")).steps, seen,
                        451'000.0 * 256 / static_cast<double>(batch)});
        errors.push_back({name, linear[i], scaled.at(lists({batch}, "scaled_rate")).error_percent,
                          seen, 23.6, 0.05});
    }
    check_published("AdaScale, ImageNet: steps to the accuracy of batch 256", rows);
    check_published("AdaScale's linear scaling, ImageNet: top-1 error after 90 epochs, %", errors);
}

TEST_CASE("published batches: Pollux's recorded runs", "[cli][published]") {
    struct Recorded {
        const char* scenario;
        std::vector<std::pair<std::int64_t, double>>
            steps;  // of validation-BATCH.csv, the last row
    };
    const std::vector<Recorded> tasks{
        {"pollux_imagenet.json",
         {{200, 576'525},
          {400, 292'995},
          {800, 150'231},
          {1600, 78'453},
          {3200, 42'123},
          {6400, 23'972},
          {12'800, 14'461}}},
        {"pollux_cifar10.json",
         {{128, 39'062}, {256, 20'377}, {512, 10'615}, {1024, 5722}, {2048, 3178}, {4096, 2011}}}};
    for (const Recorded& task : tasks) {
        std::vector<std::int64_t> batches;
        for (const auto& [batch, _] : task.steps) batches.push_back(batch);
        const auto answers = compared({task.scenario, lists(batches, "ada_scale")});
        std::vector<PublishedRow> rows;
        for (const auto& [batch, steps] : task.steps) {
            const bool fitted = batch == batches.front() || batch == batches.back();
            rows.push_back({fmt::format("batch {}", batch), steps,
                            answers.at(lists({batch}, "ada_scale")).steps, fitted ? "fitted" : seen,
                            task.steps.front().second * static_cast<double>(batches.front()) /
                                static_cast<double>(batch)});
        }
        check_published(task.scenario, rows);
    }
}

TEST_CASE("published batches: a batch that grows in the place of drops is as good",
          "[cli][published]") {
    // Smith et al., ICLR'18: the same accuracy after the same epochs, in fewer steps.
    const auto answers = compared({"goyal.json", "constant_batch:256+scaled_rate,grow_batch"});
    const Answer& drops = answers.at("constant_batch:256+scaled_rate");
    const Answer& grows = answers.at("grow_batch");
    check_published("Smith et al.: top-1 error after 90 epochs with a growing batch, %",
                    {{"256, 2560, 25600, 65536", drops.error_percent, grows.error_percent,
                      "predicted", drops.error_percent, 0.02}});
    CHECK(grows.steps < 0.5 * drops.steps);
}

TEST_CASE("published batches: rates that follow an elastic batch cost no samples",
          "[cli][published]") {
    // Lin et al. (2019): the accuracy of a fixed batch, whatever the workers.
    const auto answers = compared(
        {"elastic_batch.json", "dynamic_batch+follow_capacity+spot_only+periodic_checkpoint"});
    REQUIRE(answers.size() == 1);
    check_published("Lin et al.: samples to the accuracy of a fixed batch",
                    {{"dynamic_batch, 4 to 64 workers", 51'246'680, answers.begin()->second.samples,
                      "predicted", 51'246'680}});
}

}  // namespace ukemi
