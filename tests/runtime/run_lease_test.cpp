// run_lease_test.cpp — one suite for both kinds of lease: a file in the run's folder, and an entry
// of a Redis. Coordinators are processes, which are killed.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <memory>
#include <system_error>
#include <thread>

#include "base/input_error.hpp"
#include "runtime/folder_lease.hpp"
#include "runtime/redis_lease.hpp"
#include "tests/redis_server.hpp"
#include "tests/scratch_folder.hpp"

namespace ukemi::runtime {

namespace {

constexpr std::uint64_t job = 17;

// Where leases of one kind are.
class Places {
public:
    virtual ~Places() = default;
    virtual std::unique_ptr<RunLease> take(const LeaseClaim& claim) = 0;
    virtual std::optional<RunLeader> leader() = 0;
};

class FolderPlaces final : public Places {
public:
    std::unique_ptr<RunLease> take(const LeaseClaim& claim) override {
        return std::make_unique<FolderLease>(scratch_.path(), claim);
    }
    std::optional<RunLeader> leader() override { return FolderLease::leader(scratch_.path()); }

private:
    ScratchFolder scratch_;
};

class RedisPlaces final : public Places {
public:
    RedisPlaces() { server_.start(); }
    std::unique_ptr<RunLease> take(const LeaseClaim& claim) override {
        return std::make_unique<RedisLease>(place(), claim);
    }
    std::optional<RunLeader> leader() override { return RedisLease::leader(place()); }
    RedisServer& server() { return server_; }
    RedisPlace place() const {
        RedisPlace place =
            redis_place(server_.place(), RedisServer::password(), Secret{7}, "--rendezvous");
        place.lease_time = std::chrono::milliseconds(600);
        return place;
    }

private:
    RedisServer server_;
};

bool redis_is_here() {
#ifdef UKEMI_WITH_HIREDIS
    return RedisServer::is_here();
#else
    return false;
#endif
}

std::unique_ptr<Places> places_of(const std::string& kind) {
    if (kind == "folder") return std::make_unique<FolderPlaces>();
    if (redis_is_here()) return std::make_unique<RedisPlaces>();
    WARN("skipped: no redis-server, or a build without hiredis");
    return nullptr;
}

LeaseClaim claim_of(const std::string& address, bool goes_on, std::uint64_t of = job) {
    LeaseClaim claim;
    claim.job = of;
    claim.goes_on = goes_on;
    claim.address = address;
    return claim;
}

// A process that has the lease until it is killed.
class Coordinator {
public:
    Coordinator(Places& places, const LeaseClaim& claim,
                const std::vector<std::string>& agents = {}) {
        std::array<int, 2> ends{-1, -1};
        REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
        reading_ = FileDescriptor(ends[0]);
        FileDescriptor writing(ends[1]);
        process_ = ::fork();
        REQUIRE(process_ >= 0);
        if (process_ == 0) live(places, claim, agents, writing.get());
    }
    ~Coordinator() { kill(); }
    Coordinator(const Coordinator&) = delete;
    Coordinator& operator=(const Coordinator&) = delete;

    // Its term; nothing if it was refused.
    std::optional<int> term() {
        if (!heard_) {
            unsigned char byte = 0;
            heard_ = ::read(reading_.get(), &byte, 1) == 1 ? int{byte} : 0;
        }
        return *heard_ == 0 ? std::nullopt : heard_;
    }
    void kill() {
        if (process_ <= 0) return;
        ::kill(process_, SIGKILL);
        ::waitpid(process_, nullptr, 0);
        process_ = -1;
    }
    void stop() { ::kill(process_, SIGSTOP); }
    void go_on() { ::kill(process_, SIGCONT); }
    bool awaits_loss() const {
        unsigned char byte = 0;
        return ::read(reading_.get(), &byte, 1) == 1;
    }

private:
    [[noreturn]] static void live(Places& places, const LeaseClaim& claim,
                                  const std::vector<std::string>& agents, int writing) {
        try {
            const auto lease = places.take(claim);
            if (!agents.empty()) lease->note_agents(agents);
            const auto term = static_cast<unsigned char>(lease->term());
            [[maybe_unused]] const ssize_t told = ::write(writing, &term, 1);
            while (!lease->lost_to()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
            [[maybe_unused]] const ssize_t lost = ::write(writing, &term, 1);
            for (;;) ::pause();
        } catch (const std::exception&) {
            ::_exit(2);
        }
    }
    pid_t process_ = -1;
    FileDescriptor reading_;
    std::optional<int> heard_;
};

}  // namespace

TEST_CASE("a run's lease: one coordinator after the other, each with the next term", "[lease]") {
    const auto places = places_of(GENERATE(as<std::string>(), "folder", "redis"));
    if (!places) return;
    CHECK_FALSE(places->leader());
    Coordinator first(*places, claim_of("10.0.0.1:1", true), {"a", "b"});
    REQUIRE(first.term() == 1);
    const auto leader = places->leader();
    REQUIRE(leader);
    CHECK(leader->address == "10.0.0.1:1");
    CHECK(leader->term == 1);
    CHECK(leader->run.size() == 32);
    Coordinator second(*places, claim_of("10.0.0.2:1", true));
    CHECK_FALSE(second.term());  // the first one is there
    CHECK(places->leader()->address == "10.0.0.1:1");
    first.kill();
    CHECK(places->leader()->term == 1);  // it has left it
    CHECK_THROWS_AS(places->take(claim_of("10.0.0.3:1", true, job + 1)), InputError);
    {
        const auto third = places->take(claim_of("10.0.0.3:1", true));
        CHECK(third->term() == 2);
        CHECK(third->run() == leader->run);
        CHECK(third->agents() == std::vector<std::string>{"a", "b"});
        CHECK(places->leader()->address == "10.0.0.3:1");
        CHECK_FALSE(third->lost_to());
        third->has_begun();
    }  // it ends, and the run has not
    CHECK(places->leader()->term == 2);
    const auto fourth = places->take(claim_of("10.0.0.4:1", true));
    CHECK(fourth->term() == 3);
    fourth->run_has_ended();
}

TEST_CASE("a run's lease: a successor that is refused before it begins uses up no term",
          "[lease]") {
    const auto places = places_of(GENERATE(as<std::string>(), "folder", "redis"));
    if (!places) return;
    std::string run;
    {
        Coordinator first(*places, claim_of("10.0.0.1:1", true), {"a", "b"});
        REQUIRE(first.term() == 1);
        run = places->leader()->run;
        Coordinator second(*places, claim_of("10.0.0.2:1", true));
        CHECK_FALSE(second.term());  // and by now the first one's agents are written down
    }
    for (int refused = 0; refused < 3; ++refused) {
        {
            const auto would_be = places->take(claim_of("10.0.0.2:1", true));
            CHECK(would_be->term() == 2);
            CHECK(places->leader()->address == "10.0.0.2:1");
        }
        CHECK(places->leader()->run == run);
        CHECK(places->leader()->term == 1);
        CHECK(places->leader()->address == "10.0.0.1:1");
    }
    const auto next = places->take(claim_of("10.0.0.3:1", true));
    CHECK(next->term() == 2);
    CHECK(next->agents() == std::vector<std::string>{"a", "b"});
    next->run_has_ended();
}

TEST_CASE("a run's lease: what does not go on begins anew, and what has ended leaves nothing",
          "[lease]") {
    const auto places = places_of(GENERATE(as<std::string>(), "folder", "redis"));
    if (!places) return;
    Coordinator first(*places, claim_of("10.0.0.1:1", false), {"a"});
    REQUIRE(first.term() == 1);
    const std::string run = places->leader()->run;
    first.kill();
    {
        const auto other = places->take(claim_of("10.0.0.2:1", false));
        CHECK(other->term() == 1);
        CHECK(other->run() != run);
        CHECK(other->agents().empty());
    }  // its command came to nothing
    CHECK_FALSE(places->leader());
    {
        Coordinator next(*places, claim_of("10.0.0.2:1", false));
        REQUIRE(next.term() == 1);
    }
    {
        const auto last = places->take(claim_of("10.0.0.2:1", true));
        CHECK(last->term() == 2);
        last->run_has_ended();
    }
    CHECK_FALSE(places->leader());
}

TEST_CASE("a run's lease: of several who want it at once one gets it", "[lease]") {
    const auto places = places_of(GENERATE(as<std::string>(), "folder", "redis"));
    if (!places) return;
    {
        Coordinator first(*places, claim_of("10.0.0.1:1", true));
        REQUIRE(first.term() == 1);
    }
    std::vector<std::unique_ptr<Coordinator>> all;
    for (int i = 0; i < 8; ++i) {
        all.push_back(std::make_unique<Coordinator>(*places, claim_of("10.0.0.2:1", true)));
    }
    const auto have = std::ranges::count_if(all, [](auto& one) { return one->term().has_value(); });
    CHECK(have == 1);
    CHECK(places->leader()->term == 2);
}

TEST_CASE("a lease in Redis: one that is frozen has lost it when it thaws", "[lease]") {
    if (!redis_is_here()) {
        WARN("skipped: no redis-server, or a build without hiredis");
        return;
    }
    RedisPlaces places;
    Coordinator frozen(places, claim_of("10.0.0.1:1", true));
    REQUIRE(frozen.term() == 1);
    frozen.stop();
    const auto next = places.take(claim_of("10.0.0.2:1", true));
    CHECK(next->term() == 2);
    CHECK_FALSE(next->lost_to());
    frozen.go_on();
    CHECK(frozen.awaits_loss());
    CHECK(places.leader()->address == "10.0.0.2:1");
    CHECK_FALSE(next->lost_to());
    next->run_has_ended();
}

TEST_CASE("a lease in Redis: one that was emptied has it again, and knows what the run knows",
          "[lease]") {
    if (!redis_is_here()) {
        WARN("skipped: no redis-server, or a build without hiredis");
        return;
    }
    RedisPlaces places;
    const auto lease = places.take(claim_of("10.0.0.1:1", true));
    places.server().start();  // empty
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!places.leader() && std::chrono::steady_clock::now() < end) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    REQUIRE(places.leader());
    CHECK(places.leader()->run == lease->run());
    lease->run_has_ended();
    // Both are gone: the journal knows.
    places.server().start();
    LeaseClaim known = claim_of("10.0.0.2:1", true);
    known.known_run = std::string(32, 'a');
    known.known_term = 6;
    const auto next = places.take(known);
    CHECK(next->run() == known.known_run);
    CHECK(next->term() == 7);
    next->run_has_ended();
}

TEST_CASE("a lease in Redis: one that does not answer, or not to us, is said in one line",
          "[lease]") {
    if (!redis_is_here()) {
        WARN("skipped: no redis-server, or a build without hiredis");
        return;
    }
    RedisPlaces places;
    RedisPlace stranger = places.place();
    stranger.password = "guessed";
    CHECK_THROWS_WITH(RedisLease::leader(stranger), Catch::Contains("WRONGPASS"));
    stranger.password.clear();
    CHECK_THROWS_WITH(RedisLease::leader(stranger),
                      Catch::Contains("wants a password: expected --redis-password-file"));
    CHECK_THROWS_WITH(RedisLease(stranger, claim_of("10.0.0.1:1", false)),
                      Catch::Contains("wants a password: expected --redis-password-file"));
    places.server().freeze();
    CHECK_THROWS_AS(RedisLease::leader(places.place()), std::system_error);
    places.server().stop();
    CHECK_THROWS_WITH(
        RedisLease(places.place(), claim_of("10.0.0.1:1", true)),
        Catch::Contains("redis at 127.0.0.1:") && Catch::Contains("Connection refused"));
    for (const char* text : {"redis:", "redis:localhost:1", "redis:0.0.0.0:1", "127.0.0.1:1"}) {
        CHECK_THROWS_AS(redis_place(text, "", Secret{}, "--rendezvous"), InputError);
    }
}

}  // namespace ukemi::runtime
