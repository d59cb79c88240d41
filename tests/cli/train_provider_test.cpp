// train_provider_test.cpp — `ukemi train --provider`: machines that a program gets and gives back,
// played by one that starts agents here.
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/rng.hpp"
#include "tests/cli/agents_rig.hpp"

namespace ukemi {

namespace {

constexpr double usd_per_hour = 0.5;

// Refuses the first request, and grants all others; each machine is an agent.
void write_provider(const AgentsRig& rig) {
    const std::filesystem::path file = rig.folder() / "provider";
    write_file(file, fmt::format(R"script(#!/bin/sh
read -r line
field() {{ echo "$line" | sed "s/.*\"$1\":\"\([^\"]*\)\".*/\1/"; }}
machine=$(field machine)
echo "$line" >> asked
case $(field request) in
launch)
    if mkdir refused 2> /dev/null; then
        echo '{{"refused":"no capacity"}}'
        exit 0
    fi
    {} agent --join "$(field join)" --secret-file secret --name "$machine" --stop-within 2 \
        < /dev/null > /dev/null 2>&1 &
    echo $! > "machine-$machine"
    echo '{{"usd_per_hour":{}}}' ;;
release)
    [ -e "machine-$machine" ] && kill -9 "$(cat "machine-$machine")" 2> /dev/null
    rm -f "machine-$machine"
    echo '{{}}' ;;
esac
)script",
                                 UKEMI_BINARY, usd_per_hour));
    ::chmod(file.c_str(), 0755);
}

std::unique_ptr<RunningProgram> train_provided(const AgentsRig& rig,
                                               std::vector<std::string> more = {}) {
    std::vector<std::string> words = rig.train_words("out");
    words.insert(words.end(), {"--provider", "command:./provider", "--stop-within", "2"});
    words.insert(words.end(), more.begin(), more.end());
    return rig.start(std::move(words));
}

std::vector<nlohmann::json> provider_log(const AgentsRig& rig) {
    std::vector<nlohmann::json> events;
    for (const auto& run : std::filesystem::directory_iterator(rig.folder() / "out/runs")) {
        for (const std::string& line : lines_of(text_in(run.path() / "provider.jsonl"))) {
            events.push_back(nlohmann::json::parse(line));
        }
    }
    REQUIRE_FALSE(events.empty());
    CHECK(events.back().at("event") == "ended");
    events.pop_back();
    return events;
}

std::int64_t count_of(const std::vector<nlohmann::json>& events, const std::string& kind) {
    return std::ranges::count_if(
        events, [&](const nlohmann::json& one) { return one.at("event") == kind; });
}

double cost_of(const AgentsRig& rig, const std::string& out = "out") {
    const auto runs = nlohmann::json::parse(text_in(rig.folder() / out / "runs.json"));
    return runs.at("runs").at(0).at("cost_usd").get<double>();
}

// What the machines cost, reckoned from when each was there.
double cost_by_log(const std::vector<nlohmann::json>& events) {
    std::map<int, std::int64_t> ready_at;
    double usd = 0;
    for (const nlohmann::json& one : events) {
        const int instance = one.at("instance").get<int>();
        const auto t_ns = one.at("t_ns").get<std::int64_t>();
        if (one.at("event") == "ready") ready_at[instance] = t_ns;
        if (one.at("event") == "given_back" && ready_at.contains(instance)) {
            usd += static_cast<double>(t_ns - ready_at[instance]) * usd_per_hour / 3.6e12;
        }
    }
    return usd;
}

// Each Plan that was proposed, with its moment, and each notice that a policy saw.
struct Told {
    std::vector<std::string> plans;
    std::set<std::string> notices;
    friend bool operator==(const Told&, const Told&) = default;
};
Told told_in(const std::string& decisions) {
    Told told;
    for (const std::string& line : lines_of(decisions)) {
        const auto record = nlohmann::json::parse(line);
        if (!record.contains("seen")) continue;
        for (const auto& notice : record.at("seen").value("notices", nlohmann::json::array())) {
            told.notices.insert(notice.dump());
        }
        if (!record.contains("proposed") || record.at("proposed").is_null()) continue;
        told.plans.push_back(record.at("seen").at("now_ns").dump() + record.at("proposed").dump());
    }
    return told;
}

int provider_kills() {
    const char* const given = std::getenv("UKEMI_TAKEOVER_KILLS");
    return given == nullptr ? 2 : std::atoi(given);
}

bool machine_is_left(const AgentsRig& rig) {
    return std::ranges::any_of(names_in(rig.folder()),
                               [](const auto& name) { return name.starts_with("machine-"); });
}

// A machine's agent is told that it goes, and another comes in its place.
void lose_one_of_two(const AgentsRig& rig, RunningProgram& run) {
    await_words(run, "2 workers train");
    const Names files = names_in(rig.folder());
    const auto machine =
        std::ranges::find_if(files, [](const auto& name) { return name.starts_with("machine-"); });
    REQUIRE(machine != files.end());
    ::kill(std::stoi(text_in(rig.folder() / *machine)), SIGTERM);
    const std::string goes = "its agent was told to stop";
    await_words(run, goes);
    await_words(run, "2 workers train", goes);
}

}  // namespace

TEST_CASE("ukemi train --provider: asks for machines, pays them and gives all back",
          "[cli][live]") {
    const AgentsRig rig(60 * 2 * 8, 2, 2);
    write_provider(rig);
    const Ran ran = train_provided(rig)->wait();
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    const auto events = provider_log(rig);
    CHECK(count_of(events, "refused") == 1);
    CHECK(count_of(events, "ready") >= 2);
    CHECK(count_of(events, "given_back") == count_of(events, "asked") - 1);
    const auto refused = std::ranges::find_if(
        events, [](const nlohmann::json& one) { return one.at("event") == "refused"; });
    CHECK(refused->at("why") == "no capacity");
    // Two counts of one bill.
    CHECK(cost_of(rig) > 0);
    CHECK(cost_of(rig) == Approx(cost_by_log(events)).epsilon(0).margin(1e-8));
    // Every request has its release, and no agent is left.
    std::int64_t launches = 0;
    std::int64_t releases = 0;
    for (const std::string& line : lines_of(text_in(rig.folder() / "asked"))) {
        (nlohmann::json::parse(line).at("request") == "launch" ? launches : releases) += 1;
    }
    CHECK(launches == releases);
    CHECK_FALSE(machine_is_left(rig));
}

TEST_CASE("ukemi train --provider: a machine that goes is replaced", "[cli][live]") {
    const AgentsRig rig(without_end, 1, 2);
    write_provider(rig);
    const auto run = train_provided(rig);
    lose_one_of_two(rig, *run);
    run->send(SIGTERM);
    const Ran ran = run->wait();
    INFO(ran.err);
    CHECK(ran.code == 1);
    const auto events = provider_log(rig);
    CHECK(count_of(events, "notice") == 1);
    CHECK(count_of(events, "ready") >= 3);
    CHECK(cost_of(rig) == Approx(cost_by_log(events)).epsilon(0).margin(1e-8));
    CHECK(decisions_in(rig.folder() / "out").find("\"kind\":\"revocation_notice\"") !=
          std::string::npos);
    CHECK_FALSE(machine_is_left(rig));
}

TEST_CASE("ukemi replay --provider-log: the same notices, decisions and bill as the live run",
          "[cli][live]") {
    const AgentsRig rig(without_end, 1, 2);
    write_provider(rig);
    const auto run = train_provided(rig, {"--policies", "follow_capacity+spot_only"});
    lose_one_of_two(rig, *run);
    run->send(SIGTERM);
    run->wait();
    const auto log =
        std::filesystem::directory_iterator(rig.folder() / "out/runs")->path() / "provider.jsonl";
    const Ran replayed = run_ukemi(
        rig.folder(), {"replay", "s.json", "--provider-log", log.string(), "--policies",
                       "follow_capacity+spot_only", "--out", "again", "--log-observations"});
    INFO(replayed.err);
    REQUIRE(replayed.code == 0);
    CHECK_THAT(replayed.out, Catch::Contains("the live run made"));
    CHECK(cost_of(rig, "again") == cost_of(rig, "out"));
    const Told live = told_in(decisions_in(rig.folder() / "out"));
    CHECK(live.plans.size() >= 2);
    CHECK(live.notices.size() == 1);
    CHECK(told_in(decisions_in(rig.folder() / "again")) == live);
    CHECK_THAT(replayed.err, !Catch::Contains("its bill is of another time"));
    // A job that is done long before the live run was ended.
    const Ran shorter = run_ukemi(
        rig.folder(), {"replay", "s.json", "--provider-log", log.string(), "--policies",
                       "follow_capacity+spot_only", "--set", "/job/samples=32", "--no-files"});
    CHECK(shorter.code == 0);
    CHECK_THAT(shorter.err, Catch::Contains("the work is done after ") &&
                                Catch::Contains("its bill is of another time"));
}

TEST_CASE("ukemi train --provider: a successor has the machines, and asks for none twice",
          "[cli][live][chaos]") {
    const AgentsRig rig(without_end, 1, 2);
    write_provider(rig);
    auto run = train_provided(rig, {"--policies", "follow_capacity+spot_only"});
    lose_one_of_two(rig, *run);
    RandomStream random(23, "provided takeovers");
    for (int kill = 0; kill < provider_kills(); ++kill) {
        CAPTURE(kill);
        std::this_thread::sleep_for(std::chrono::milliseconds(random.integer(0, 60)));
        run->send(SIGKILL);
        run->wait();
        run = train_provided(
            rig, {"--policies", "follow_capacity+spot_only", "--resume", "out-checkpoints"});
        await_words(*run, random.chance(0.5) ? "took over 2 workers" : "2 workers train");
    }
    await_words(*run, "2 workers train");
    run->send(SIGTERM);
    const Ran ran = run->wait();
    INFO(ran.err);
    CHECK(ran.code == 1);
    const auto events = provider_log(rig);
    CHECK(count_of(events, "ready") == 3);
    CHECK(cost_of(rig) > 0);
    CHECK(cost_of(rig) == Approx(cost_by_log(events)).epsilon(0).margin(1e-8));
    std::multiset<std::string> launched;
    std::set<std::string> released;
    for (const std::string& line : lines_of(text_in(rig.folder() / "asked"))) {
        const auto request = nlohmann::json::parse(line);
        const std::string machine = request.at("machine").get<std::string>();
        if (request.at("request") == "launch") {
            launched.insert(machine);
        } else {
            released.insert(machine);
        }
    }
    const std::set<std::string> machines(launched.begin(), launched.end());
    CHECK(launched.size() == machines.size());
    CHECK(released == machines);
    CHECK_FALSE(machine_is_left(rig));
    const auto log = std::filesystem::directory_iterator(rig.folder() / "out/runs")->path();
    const Ran replayed =
        run_ukemi(rig.folder(), {"replay-log", (log / "decisions.jsonl").string()});
    INFO(replayed.err);
    CHECK(replayed.code == 0);
}

TEST_CASE("ukemi train --budget: the run has saved and ended before it is spent", "[cli][live]") {
    const AgentsRig rig(without_end, 1, 2);
    write_provider(rig);
    const Ran ran = train_provided(rig, {"--budget", "0.2"})->wait();
    INFO(ran.err);
    CHECK(ran.code == 1);
    CHECK_THAT(ran.err, Catch::Contains("the budget of 0.20 USD would be spent") &&
                            Catch::Contains("the model is saved, all "));
    CHECK(cost_of(rig) > 0.05);
    CHECK(cost_of(rig) < 0.2);
}

TEST_CASE("ukemi train --provider: a program that fails is a refusal, and is said", "[cli][live]") {
    const AgentsRig rig(without_end, 1, 2);
    write_file(rig.folder() / "provider", "#!/bin/sh\necho out of order >&2\nexit 7\n");
    ::chmod((rig.folder() / "provider").c_str(), 0755);
    const auto run = train_provided(rig);
    await_words(*run, "out of order");
    run->send(SIGTERM);
    const Ran ran = run->wait();
    INFO(ran.err);
    CHECK(ran.code == 1);
    CHECK_THAT(ran.err, Catch::Contains("may still run and cost money: ./provider: ended with"));
}

TEST_CASE("ukemi replay --provider-log: what is no log of this run is refused in one line",
          "[cli]") {
    const AgentsRig rig(60 * 8, 1, 1);
    const std::string asked =
        R"({"t_ns":5,"event":"asked","instance":0,"zone":"always","market":"spot"})";
    const std::vector<std::pair<std::string, std::string>> table{
        {"", "expected a provider.jsonl to its end"},
        {asked + "\n", "expected a provider.jsonl to its end"},
        {"{\n", "log:1:1:2: syntax error"},
        {R"({"t_ns":5,"event":"asked","instance":1,"zone":"always"})", "log:1: at /instance"},
        {R"({"t_ns":5,"event":"asked","instance":0,"zone":"moon"})", "is no zone of the scenario"},
        {asked + "\n" + R"({"t_ns":4,"event":"ready","instance":0,"zone":"always"})",
         "log:2: at /t_ns: is before the request"},
        {R"({"t_ns":5,"event":"ready","instance":3,"zone":"always"})", "was not asked for"},
        {R"({"t_ns":-5,"event":"ended"})", "log:1: at /t_ns"},
        {R"({"t_ns":5,"event":"begun"})", "log:1: at /event"},
    };
    const auto refused = [&](const std::vector<std::string>& words, const std::string& expected) {
        const Ran ran = run_ukemi(rig.folder(), words);
        INFO(ran.err);
        CHECK(ran.code == 2);
        CHECK_THAT(ran.err, Catch::Contains(expected));
        CHECK(std::ranges::count(ran.err, '\n') == 1);
        CHECK_FALSE(std::filesystem::exists(rig.folder() / "out"));
    };
    for (const auto& [text, expected] : table) {
        write_file(rig.folder() / "log", text);
        refused({"replay", "s.json", "--provider-log", "log", "--out", "out"}, expected);
    }
    refused({"replay", "s.json", "--provider-log", "log", "--starts", "2", "--out", "out"},
            "--starts: the market is that of --provider-log");
}

TEST_CASE("ukemi train: providers and limits that are none are refused in one line", "[cli]") {
    const AgentsRig rig(60 * 8, 1, 1);
    const std::vector<std::pair<std::vector<std::string>, std::string>> table{
        {{"train", "s.json", "--provider", "command:./p"}, "--provider: its machines join as"},
        {{"train", "s.json", "--provider", "static:a:x", "--address", "127.0.0.1"}, "--hosts: "},
        {{"train", "s.json", "--provider", "static:a", "--hosts", "b"},
         "--hosts: --provider says the same"},
        {{"train", "s.json", "--provider", "trace:none.csv", "--out", "out"}, "none.csv"},
        {{"train", "s.json", "--provider", "slurm"}, "--provider: expected command:PROGRAM"},
        {{"--provider", "aws"}, "trace:FILE, found \"aws\""},
        {{"--provider", "command:"}, "--provider: expected command:PROGRAM"},
        {{"--stop-at", "tomorrow"}, "expected a time such as"},
        {{"--budget", "-1"}, "--budget"},
    };
    for (const auto& [more, expected] : table) {
        std::vector<std::string> words = more;
        if (more.front() != "train") {
            words = rig.train_words("out");
            words.insert(words.end(), more.begin(), more.end());
        }
        const Ran ran = run_ukemi(rig.folder(), words);
        INFO(ran.err);
        CHECK(ran.code == 2);
        CHECK_THAT(ran.err, Catch::Contains(expected));
        CHECK(std::ranges::count(ran.err, '\n') == 1);
        CHECK_FALSE(std::filesystem::exists(rig.folder() / "out"));
    }
    const Ran late = run_ukemi(
        rig.folder(), {"train", "s.json", "--stop-at", "2020-01-01T00:00:00Z", "--out", "late"});
    CHECK(late.code == 1);
    CHECK_THAT(late.err, Catch::Contains("its hour has come: 2020-01-01 00:00:00 UTC"));
}

TEST_CASE("examples/providers: launch, refuse and release by the commands of others", "[cli]") {
    struct Example {
        std::string program;
        std::string command;  // that grants, and writes down its words
        std::string answer;
        std::string refuses;  // of a command that does not
        std::string launched;
        std::string released;
    };
    const auto example = GENERATE(
        Example{"sbatch.py", "sbatch", "echo 17", "echo no partition >&2; exit 1",
                "sbatch --parsable --ntasks=1 --signal=TERM@60 --job-name m-1 --wrap exec ukemi "
                "agent --join 10.0.0.1:7421 --name m-1 --secret-file s --stop-within 60",
                "scancel --name m-1"},
        Example{"sky.py", "sky", ":", "exit 1",
                "sky launch --yes --detach-run --cluster m-1 --zone z --use-spot --env "
                "UKEMI_JOIN=10.0.0.1:7421 --env UKEMI_NAME=m-1 task.yaml",
                "sky down --yes m-1"},
        Example{"aws_fleet.py", "aws", R"(echo '{"Instances": [{}], "Reservations": [{"Instances":
                    [{"InstanceId": "i-7"}]}]}')",
                R"(echo '{"Instances": [], "Errors": [{"ErrorCode": "NoCapacity"}]}')",
                "aws ec2 create-fleet --type instant", "terminate-instances --instance-ids i-7"});
    if (!std::filesystem::exists("/usr/bin/python3")) {
        WARN("skipped: no /usr/bin/python3 here");
        return;
    }
    const ScratchFolder scratch;
    const auto write_command = [&](const std::string& name, const std::string& lines) {
        write_file(scratch.path() / name,
                   "#!/bin/sh\necho \"" + name + " $*\" >> told\n" + lines + "\n");
        ::chmod((scratch.path() / name).c_str(), 0755);
    };
    write_command(example.command, example.answer);
    write_command("scancel", ":");
    const auto ask = [&](const std::string& request) {
        return run_program("/bin/sh", scratch.path(),
                           {"-c", fmt::format("echo '{}' | PATH=.:$PATH UKEMI_SECRET_FILE=s "
                                              "UKEMI_TASK=task.yaml UKEMI_LAUNCH_TEMPLATE=t "
                                              "/usr/bin/python3 {}/examples/providers/{}",
                                              request, UKEMI_SOURCE_DIR, example.program)});
    };
    const std::string launch =
        R"({"request":"launch","machine":"m-1","zone":"z","market":"spot","join":"10.0.0.1:7421"})";
    const Ran launched = ask(launch);
    INFO(example.program << "\n" << launched.err);
    CHECK(launched.code == 0);
    CHECK(nlohmann::json::parse(launched.out) == nlohmann::json::object());
    CHECK_THAT(text_in(scratch.path() / "told"), Catch::Contains(example.launched));
    const Ran released = ask(R"({"request":"release","machine":"m-1"})");
    CHECK(released.code == 0);
    CHECK(nlohmann::json::parse(released.out) == nlohmann::json::object());
    CHECK_THAT(text_in(scratch.path() / "told"), Catch::Contains(example.released));
    write_command(example.command, example.refuses);
    const Ran refused = ask(launch);
    CHECK(refused.code == 0);
    CHECK(nlohmann::json::parse(refused.out).contains("refused"));
}

}  // namespace ukemi
