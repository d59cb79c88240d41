// notices_test.cpp — metadata services as they are documented, played by a server on loopback: what
// each of their answers announces, and what comes of answers that are none.
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/streambuf.hpp>
#include <boost/asio/write.hpp>
#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "base/input_error.hpp"
#include "runtime/notices/metadata_service.hpp"
#include "runtime/notices/notice_watch.hpp"
#include "tests/runtime/live_rig.hpp"

namespace ukemi {

namespace {

using boost::asio::ip::tcp;

// Answers "GET /target" as the test says, without whatever was not said with 404.
class StandIn {
public:
    StandIn() : acceptor_(context_, {boost::asio::ip::address_v4::loopback(), 0}) {
        thread_ = std::thread([this] { serve(); });
    }
    ~StandIn() {
        {
            const std::lock_guard lock(mutex_);
            ends_ = true;
        }
        boost::system::error_code ignored;
        tcp::socket last(context_);  // wakes it up
        last.connect(acceptor_.local_endpoint(), ignored);
        last.close(ignored);  // or it would wait for what is asked
        thread_.join();
    }
    std::string place(std::string_view kind) const {
        return fmt::format("{}:127.0.0.1:{}", kind, acceptor_.local_endpoint().port());
    }
    // `needs`: a header line without which the answer is 401; `also`: further header lines.
    void answer(const std::string& request, std::string body, std::string needs = "",
                std::string also = "", std::string status = "200 OK") {
        const std::lock_guard lock(mutex_);
        answers_[request] = {std::move(body), std::move(needs), std::move(also), std::move(status)};
    }
    void silence(const std::string& request) { answer(request, "", "", "", "silence"); }
    int asked(const std::string& request) const {
        const std::lock_guard lock(mutex_);
        const auto found = asked_.find(request);
        return found == asked_.end() ? 0 : found->second;
    }

private:
    struct Answer {
        std::string body;
        std::string needs;
        std::string also;
        std::string status;
    };

    void serve() {
        for (;;) {
            tcp::socket socket(context_);
            acceptor_.accept(socket);
            boost::system::error_code error;
            boost::asio::streambuf buffer;
            boost::asio::read_until(socket, buffer, "\r\n\r\n", error);
            const std::lock_guard lock(mutex_);
            if (ends_) return;
            if (error) continue;
            const std::string text(boost::asio::buffers_begin(buffer.data()),
                                   boost::asio::buffers_end(buffer.data()));
            const std::string request = text.substr(0, text.find(" HTTP/"));
            ++asked_[request];
            if (answers_[request].status == "silence") {
                silent_.push_back(std::move(socket));  // held open
                continue;
            }
            boost::asio::write(socket, boost::asio::buffer(answer_to(request, text)), error);
        }
    }

    std::string answer_to(const std::string& request, const std::string& text) const {
        Answer answer = answers_.at(request);
        if (answer.status.empty()) answer.status = "404 Not Found";
        if (text.find(answer.needs) == std::string::npos) {
            answer = {"", "", "", "401 Unauthorized"};
        }
        return fmt::format("HTTP/1.1 {}\r\n{}Content-Length: {}\r\n\r\n{}", answer.status,
                           answer.also, answer.body.size(), answer.body);
    }

    boost::asio::io_context context_;
    tcp::acceptor acceptor_;
    mutable std::mutex mutex_;
    bool ends_ = false;
    std::map<std::string, Answer> answers_;
    std::map<std::string, int> asked_;
    std::vector<tcp::socket> silent_;
    std::thread thread_;
};

std::unique_ptr<runtime::NoticeSource> source_of(const std::string& text) {
    return runtime::make_notice_source(text, "--notices");
}

constexpr const char* aws_token = "PUT /latest/api/token";
constexpr const char* aws_action = "GET /latest/meta-data/spot/instance-action";
constexpr const char* aws_rebalance = "GET /latest/meta-data/events/recommendations/rebalance";

}  // namespace

TEST_CASE("notices: AWS's spot interruptions, by a token that is renewed", "[notices]") {
    StandIn service;
    service.answer(aws_token, "first", "X-aws-ec2-metadata-token-ttl-seconds: 21600");
    const auto aws = source_of(service.place("aws"));
    CHECK_FALSE(aws->ask());  // 404: nothing is announced
    service.answer(aws_rebalance, R"({"noticeTime": "2026-11-23T08:00:00Z"})",
                   "X-aws-ec2-metadata-token: first");
    const auto recommended = aws->ask();
    REQUIRE(recommended);
    CHECK_FALSE(recommended->is_loss);
    // The token has ended: 401, a new one, and the question again.
    service.answer(aws_token, "second", "X-aws-ec2-metadata-token-ttl-seconds: 21600");
    service.answer(aws_action, R"({"action": "terminate", "time": "2026-11-23T08:22:00Z"})",
                   "X-aws-ec2-metadata-token: second");
    const auto taken = aws->ask();
    REQUIRE(taken);
    CHECK(taken->is_loss);
    CHECK(taken->text == "AWS will terminate this machine at 2026-11-23 08:22:00 UTC");
    REQUIRE(taken->at);
    CHECK(*taken->at == runtime::world_time("2026-11-23T08:22:00Z"));
    CHECK(service.asked(aws_token) == 2);
}

TEST_CASE("notices: GCE's preemption and maintenance", "[notices]") {
    StandIn service;
    const std::string preempted = "GET /computeMetadata/v1/instance/preempted";
    const std::string maintenance = "GET /computeMetadata/v1/instance/maintenance-event";
    const std::string needs = "Metadata-Flavor: Google";
    const std::string also = "Metadata-Flavor: Google\r\n";
    const auto gce = source_of(service.place("gce"));
    service.answer(preempted, "FALSE", needs, also);
    service.answer(maintenance, "MIGRATE_ON_HOST_MAINTENANCE", needs, also);
    CHECK_FALSE(gce->ask());
    service.answer(maintenance, "TERMINATE_ON_HOST_MAINTENANCE", needs, also);
    REQUIRE(gce->ask());
    CHECK(gce->ask()->text == "GCE ends this machine for maintenance");
    service.answer(preempted, "TRUE\n", needs, also);
    const auto taken = gce->ask();
    REQUIRE(taken);
    CHECK(taken->text == "GCE preempts this machine");
    CHECK_FALSE(taken->at);
    service.answer(preempted, "TRUE", needs);  // not by who it should be
    CHECK_THROWS_WITH(gce->ask(), Catch::Contains("instance/preempted: answers 200"));
    service.answer(preempted, "maybe", needs, also);
    CHECK_THROWS_WITH(gce->ask(), Catch::Contains("no value of it is \"maybe\""));
}

TEST_CASE("notices: Azure's events of this machine, not of its neighbours", "[notices]") {
    StandIn service;
    const std::string events = "GET /metadata/scheduledevents?api-version=2020-07-01";
    const std::string name =
        "GET /metadata/instance/compute/name?api-version=2021-02-01&format=text";
    const auto azure = source_of(service.place("azure"));
    CHECK_THROWS_WITH(azure->ask(), Catch::Contains("is not there"));
    service.answer(name, "ours", "Metadata: true");
    const auto event = [&](const char* kind, const char* machine, const char* not_before) {
        service.answer(events,
                       fmt::format(R"({{"DocumentIncarnation": 1, "Events": [{{"EventId": "x",
                           "EventType": "{}", "ResourceType": "VirtualMachine",
                           "Resources": ["{}"], "EventStatus": "Scheduled",
                           "NotBefore": "{}"}}]}})",
                                   kind, machine, not_before),
                       "Metadata: true");
    };
    service.answer(events, R"({"DocumentIncarnation": 1, "Events": []})", "Metadata: true");
    CHECK_FALSE(azure->ask());
    event("Preempt", "another", "Mon, 19 Sep 2016 18:29:47 GMT");
    CHECK_FALSE(azure->ask());
    event("Freeze", "ours", "Mon, 19 Sep 2016 18:29:47 GMT");
    CHECK_FALSE(azure->ask());
    event("Preempt", "ours", "Mon, 19 Sep 2016 18:29:47 GMT");
    REQUIRE(azure->ask());
    CHECK(azure->ask()->text ==
          "Azure has scheduled a Preempt of this machine, not before 2016-09-19 18:29:47 UTC");
    event("Terminate", "ours", "");  // it has begun
    REQUIRE(azure->ask());
    CHECK_FALSE(azure->ask()->at);
}

TEST_CASE("notices: what is no answer announces nothing, and says why", "[notices]") {
    StandIn service;
    const auto aws = source_of(service.place("aws"));
    service.answer(aws_token, "two words", "");
    CHECK_THROWS_WITH(aws->ask(), Catch::Contains("/latest/api/token: answers 200, \"two words\""));
    service.answer(aws_token, "token", "");
    service.answer(aws_action, R"({"action": 7})", "");
    CHECK_THROWS(aws->ask());
    service.answer(aws_action, "<html>", "");
    CHECK_THROWS(aws->ask());
    service.answer(aws_action, "", "", "", "500 Internal Server Error");
    CHECK_THROWS_WITH(aws->ask(), Catch::Contains("answers 500"));
    service.answer(aws_action, std::string(100'000, ' '), "");
    CHECK_THROWS_WITH(aws->ask(), Catch::Contains("body limit exceeded"));
    service.answer(aws_action, "", "", "", "what is this?");
    CHECK_THROWS(aws->ask());
    service.silence(aws_action);
    CHECK_THROWS_WITH(aws->ask(), Catch::Contains("instance-action: no answer"));
}

TEST_CASE("notices: places and times that are none are refused", "[notices]") {
    CHECK_THROWS_WITH(source_of("azur"), Catch::Contains("did you mean \"azure\"?"));
    CHECK_THROWS_WITH(source_of("gce:localhost"),
                      Catch::Contains("expected ADDRESS:PORT after the colon"));
    CHECK_THROWS_WITH(source_of("file"), Catch::Contains("expected PATH after the colon"));
    CHECK_THROWS_WITH(source_of("gce:nowhere:80")->ask(),
                      Catch::Contains("expected an address in numbers"));
    CHECK_FALSE(runtime::world_time("tomorrow"));
    CHECK_FALSE(runtime::world_time("2026-11-23T08:22:00Z and more"));
    const ScratchFolder scratch;
    std::ofstream(scratch.path() / "taken") << "soon\n";
    CHECK_THROWS_WITH(source_of("file:" + (scratch.path() / "taken").string())->ask(),
                      Catch::Contains("expected a time such as"));
}

TEST_CASE("notices: a watch keeps the first loss, and says a trouble once", "[notices]") {
    struct Script final : runtime::NoticeSource {
        explicit Script(std::atomic<int>* asked) : asked_(asked) {}
        std::optional<runtime::HostNotice> ask() override {
            const int count = ++*asked_;
            if (count < 4) throw std::runtime_error("nobody is there");
            if (count < 6) return runtime::HostNotice{"move on", {}, false};
            return runtime::HostNotice{fmt::format("taken {}", count), {}, true};
        }
        std::atomic<int>* asked_;
    };
    std::atomic<int> asked{0};
    std::vector<std::unique_ptr<runtime::NoticeSource>> sources;
    sources.push_back(std::make_unique<Script>(&asked));
    runtime::NoticeWatch watch(std::move(sources), std::chrono::milliseconds(1));
    while (!watch.loss()) std::this_thread::yield();
    CHECK(watch.loss()->text == "taken 6");
    CHECK(watch.take_remarks() ==
          std::vector<std::string>{"no notices: nobody is there", "move on"});
    CHECK(watch.take_remarks().empty());
}

namespace {

void write_program(const std::filesystem::path& file, const std::string& lines) {
    std::ofstream(file) << "#!/bin/sh\n" << lines;
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
}

}  // namespace

TEST_CASE("notices: a user's program says when, or nothing", "[notices]") {
    const ScratchFolder scratch;
    const std::filesystem::path program = scratch.path() / "program";
    const auto source = source_of("command:" + program.string());
    CHECK_THROWS_WITH(source->ask(), Catch::Contains("could not be started"));
    write_program(program, "echo; exit 0\n");
    CHECK_FALSE(source->ask());
    write_program(program, "echo now\n");
    REQUIRE(source->ask());
    CHECK_FALSE(source->ask()->at);
    write_program(program, "echo 2026-11-23T08:22:00Z\n");
    REQUIRE(source->ask());
    CHECK(source->ask()->at == runtime::world_time("2026-11-23T08:22:00Z"));
    CHECK(source->ask()->is_loss);
    // None of these announces anything.
    const std::vector<std::pair<std::string, std::string>> wrong{
        {"echo soon\n", "expected a time such as"},
        {"echo now; exit 3\n", "ended with status 3"},
        {"kill -9 $$\n", "killed by signal 9"},
        {"exec sleep 100\n", "did not answer within 2 s"},
        {"exec >&-; exec sleep 100\n", "did not answer within 2 s"},
        {"yes\n", "printed more than 4 KiB"},
    };
    for (const auto& [lines, expected] : wrong) {
        write_program(program, lines);
        CHECK_THROWS_WITH(source->ask(), Catch::Contains(expected));
    }
    CHECK_THROWS_WITH(source_of("command"), Catch::Contains("expected PROGRAM after the colon"));
}

TEST_CASE("notices: SIGTERM, as schedulers give it", "[notices]") {
    for (const char* place : {"sigterm", "sigterm:", "sigterm:0", "sigterm:soon", "sigterm:-3"}) {
        CHECK_THROWS_WITH(source_of(place), Catch::Contains("expected SECONDS after the colon"));
    }
    const auto source = source_of("sigterm:30");
    const auto before = std::signal(SIGTERM, SIG_DFL);
    CHECK_FALSE(source->ask());  // from now on it listens
    const auto earliest = std::chrono::system_clock::now() + std::chrono::seconds(29);
    std::raise(SIGTERM);
    const auto notice = source->ask();
    std::signal(SIGTERM, before);
    REQUIRE(notice);
    CHECK(notice->text == "SIGTERM says that this machine goes in 30 s");
    REQUIRE(notice->at);
    CHECK(*notice->at >= earliest);
    CHECK(*notice->at <= earliest + std::chrono::seconds(10));
    CHECK(source->ask()->at == notice->at);  // it stays
}

namespace {

// What policies were asked because of a notice: for each, the machines that go.
std::vector<std::size_t> asked_of_notices(const std::string& decisions) {
    std::vector<std::size_t> machines;
    std::istringstream lines(decisions);
    for (std::string line; std::getline(lines, line);) {
        const auto record = nlohmann::json::parse(line);
        if (record.value("record", "") != "question") continue;
        if (record.at("event").at("kind") != "revocation_notice") continue;
        machines.push_back(record.at("seen").at("notices").size());
        CHECK(record.at("seen").at("zones").at(0).value("spot_capacity", 0) == 0);
    }
    return machines;
}

}  // namespace

TEST_CASE("notices: a live run whose machine goes asks its policies, saves and ends",
          "[live][notices]") {
    const ScratchFolder folder;
    const scenarios::Scenario scenario =
        live_scenario(endless, 2, "", "spot_only+checkpoint_on_notice");
    runtime::LiveOptions options = options_in(folder, 10);
    std::atomic<bool> announced{false};
    // Nearer than what saving may take, or at any moment.
    const bool has_time = GENERATE(true, false);
    const auto at = std::chrono::system_clock::now() + std::chrono::seconds(15);
    options.host_loss = [&]() -> std::optional<runtime::HostNotice> {
        if (!announced) return std::nullopt;
        return runtime::HostNotice{"this machine goes", has_time ? std::optional(at) : std::nullopt,
                                   true};
    };
    options.on_progress = [&](const runtime::LiveRecord& record) {
        if (!record.steps.empty() && record.steps.back().step >= 20) announced = true;
    };
    const runtime::LiveRun live = run_it(scenario, scenarios::calm_market(scenario), options);
    CHECK(live.interrupted);
    CHECK_FALSE(live.run.result.finished);
    CHECK(live.record.stopped == "this machine goes");
    REQUIRE_FALSE(live.record.steps.empty());
    CHECK(live.record.last_saved_step == live.record.steps.back().step + 1);
    CHECK(asked_of_notices(live.run.decisions) == std::vector<std::size_t>{2});
    require_sound(live);
}

TEST_CASE("notices: a live run trains on while its machine is there", "[live][notices]") {
    const ScratchFolder folder;
    const scenarios::Scenario scenario =
        live_scenario(endless, 2, "", "spot_only+checkpoint_on_notice");
    runtime::LiveOptions options = options_in(folder, 10);
    const RunUntil until(options, [](const runtime::LiveRecord& record) {
        return !record.incidents.empty() && record.steps.size() >= 60;
    });
    const auto at = std::chrono::system_clock::now() + std::chrono::hours(1);
    options.host_loss = [&]() -> std::optional<runtime::HostNotice> {
        return runtime::HostNotice{"this machine goes", at, true};
    };
    const runtime::LiveRun live = run_it(scenario, scenarios::calm_market(scenario), options);
    CHECK(live.record.stopped == "told to stop");
    CHECK(live.record.steps.size() >= 60);
    CHECK_THAT(live.record.incidents.front(), Catch::EndsWith("this machine goes"));
    const auto asked = asked_of_notices(live.run.decisions);
    CHECK(asked.size() == 1);
    require_sound(live);
}

}  // namespace ukemi
