// messages_test.cpp — every message survives the wire, and no bytes can do harm.
#include "runtime/messages.hpp"

#include <catch2/catch.hpp>

#include "base/rng.hpp"
#include "runtime/plan_text.hpp"

namespace ukemi::runtime {

namespace {

std::span<const std::uint8_t> body_of(const ByteString& frame) {
    return std::span(frame).subspan(4);
}

std::string random_text(RandomStream& random) {
    std::string text;
    for (std::int64_t i = random.integer(0, 40); i > 0; --i) {
        text += static_cast<char>(random.integer(0, 255));
    }
    return text;
}

ByteString random_bytes(RandomStream& random, std::int64_t max) {
    ByteString bytes;
    for (std::int64_t i = random.integer(0, max); i > 0; --i) {
        bytes.push_back(static_cast<std::uint8_t>(random.integer(0, 255)));
    }
    return bytes;
}

kernels::StepReport random_report(RandomStream& random) {
    kernels::StepReport report;
    for (std::int64_t i = random.integer(0, 4); i > 0; --i) {
        kernels::StepWord word;
        word.plan_digest = random.bits();
        word.step = static_cast<std::int64_t>(random.bits());
        word.loss_sum = random.normal(0, 1e9);
        word.wants_hold = static_cast<std::uint32_t>(random.bits());
        report.words.push_back(word);
    }
    report.loss = random.normal(0, 1);
    report.noise_measured = random.chance(0.5);
    report.hold = static_cast<std::uint32_t>(random.bits());
    return report;
}

Message random_message(RandomStream& random) {
    switch (random.integer(0, 7)) {
        case 0: {
            Hello hello;
            hello.worker = static_cast<std::uint32_t>(random.bits());
            hello.process = static_cast<std::int32_t>(random.bits());
            for (std::uint8_t& byte : hello.secret) byte = static_cast<std::uint8_t>(random.bits());
            return hello;
        }
        case 1: return OwnAddress{random.bits(), random_bytes(random, 300)};
        case 2: {
            StepFinished done{random.bits(), static_cast<std::int64_t>(random.bits()), 5, {}};
            if (random.chance(0.5)) done.report = random_report(random);
            return done;
        }
        case 3: {
            Status status;
            status.has_state = random.chance(0.5);
            status.replica_digest = random.bits();
            for (std::int64_t i = random.integer(0, 3); i > 0; --i) {
                status.past.push_back({i, 10 * i, random_report(random)});
            }
            return status;
        }
        case 4: {
            Transition order;
            order.attempt = random.bits();
            order.plan = random_text(random);
            order.group_secret = random_bytes(random, 32);
            for (std::int64_t i = random.integer(0, 8); i > 0; --i) {
                order.members.push_back(static_cast<std::uint32_t>(random.bits()));
                order.holders.push_back(random.chance(0.5) ? 1 : 0);
            }
            order.checkpoint = random_text(random);
            return order;
        }
        case 5: {
            Peers peers{random.bits(), {}};
            for (std::int64_t i = random.integer(0, 8); i > 0; --i) {
                peers.addresses.push_back(random_bytes(random, 150));
            }
            return peers;
        }
        case 6: {
            StepFailed failed;
            failed.outcome = static_cast<kernels::Outcome>(random.integer(0, 3));
            failed.suspect = static_cast<std::int32_t>(random.integer(-1, 7));
            return failed;
        }
        default: return Trouble{random_text(random)};
    }
}

}  // namespace

TEST_CASE("control messages: what is encoded decodes to the same bytes", "[live][property]") {
    RandomStream random(1, "messages");
    for (int i = 0; i < 2000; ++i) {
        CAPTURE(i);
        const Message message = random_message(random);
        const ByteString frame = encode(message);
        const Decoded decoded = decode(body_of(frame));
        REQUIRE(decoded.message.has_value());
        CHECK(decoded.problem.empty());
        CHECK(decoded.message->index() == message.index());
        CHECK(encode(*decoded.message) == frame);
    }
}

TEST_CASE("control messages: every kind has a form of its own", "[live]") {
    const std::vector<Message> kinds{
        Hello{},        Ready{},      Heartbeat{},  OwnAddress{},  Entered{},      NotEntered{},
        StepFinished{}, Standing{},   StepFailed{}, Status{},      Saved{},        NotSaved{},
        Trouble{},      Welcome{},    Transition{}, Peers{},       Commit{},       Discard{},
        Run{},          Hold{},       Abandon{},    Save{},        Leave{},        Ping{},
        Inject{},       AgentHello{}, AgentBeat{},  WorkerEnded{}, AgentNotice{},  AgentWelcome{},
        StartWorker{},  EndWorker{},  Dismissal{},  Tenure{},      AgentWorkers{}, Superseded{}};
    REQUIRE(kinds.size() == std::variant_size_v<Message>);
    for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
        CAPTURE(kind);
        const ByteString frame = encode(kinds[kind]);
        CHECK(frame[4] == kind);
        const Decoded decoded = decode(body_of(frame));
        REQUIRE(decoded.message.has_value());
        CHECK(decoded.message->index() == kind);
    }
}

TEST_CASE("control messages: a Hello is as long as a stranger's bytes may be", "[live]") {
    CHECK(encode(Hello{}).size() - 4 <= hello_bytes_max);
    CHECK(encode(AgentHello{protocol_version, 1, std::string(40, 'a')}).size() - 4 <=
          hello_bytes_max);
}

TEST_CASE("control messages: every beginning of a frame is refused", "[live][property]") {
    RandomStream random(2, "beginnings");
    for (int i = 0; i < 200; ++i) {
        const ByteString frame = encode(random_message(random));
        for (std::size_t length = 0; length + 4 < frame.size(); ++length) {
            const Decoded decoded = decode(body_of(frame).first(length));
            REQUIRE_FALSE(decoded.message.has_value());
            REQUIRE_FALSE(decoded.problem.empty());
        }
    }
}

TEST_CASE("control messages: damaged frames are refused or read as something else",
          "[live][property]") {
    RandomStream random(3, "damage");
    int refused = 0;
    for (int i = 0; i < 20'000; ++i) {
        ByteString frame = encode(random_message(random));
        for (std::int64_t k = random.integer(1, 3); k > 0; --k) {
            const auto at = random.integer(4, static_cast<std::int64_t>(frame.size()) - 1);
            frame[static_cast<std::size_t>(at)] = static_cast<std::uint8_t>(random.bits());
        }
        const Decoded decoded = decode(body_of(frame));
        if (!decoded.message) ++refused;
        REQUIRE(decoded.message.has_value() == decoded.problem.empty());
    }
    CHECK(refused > 1000);
}

TEST_CASE("control messages: complaints name what is wrong", "[live]") {
    const auto problem = [](std::vector<std::uint8_t> bytes) { return decode(bytes).problem; };
    const auto type = [](const Message& message) {
        return static_cast<std::uint8_t>(message.index());
    };
    CHECK(problem({}) == "a frame that ends too early");
    CHECK(problem({250}) == "a message of an unknown type");
    CHECK(problem({type(Leave{}), 0}) == "bytes after the last field");
    CHECK(problem({type(Inject{}), 9}) == "an enumerator out of range");
    CHECK(problem({type(Trouble{}), 255, 255, 255, 255}) == "a list longer than its frame");
    ByteString status = encode(Status{});
    status[4 + 1 + 8] = 2;
    CHECK(decode(body_of(status)).problem == "a flag that is neither 0 nor 1");
    CHECK(decode(ByteString(frame_bytes_max + 1)).problem == "a frame that is too long");
}

TEST_CASE("plan text: a Plan comes back equal, and its digest tells Plans apart", "[live]") {
    policies::Plan plan;
    plan.version = PlanVersion{7};
    plan.learning_rate = 0.1;
    plan.fleet.push_back({ZoneId{2}, 1, policies::Market::spot, 3, {}});
    plan.collective = policies::Collective::ring;
    const policies::Plan back = plan_from_text(plan_text(plan));
    CHECK(back == plan);
    CHECK(plan_digest(back) == plan_digest(plan));
    policies::Plan other = plan;
    other.learning_rate = 0.1000000000000001;
    CHECK(plan_digest(other) != plan_digest(plan));
    other = plan;
    other.version = PlanVersion{8};
    CHECK(plan_digest(other) != plan_digest(plan));
}

}  // namespace ukemi::runtime
