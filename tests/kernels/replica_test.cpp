// replica_test.cpp — the update rules by hand, and undo, digest and state to the bit.
#include "kernels/replica.hpp"

#include <catch2/catch.hpp>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "base/input_error.hpp"
#include "base/rng.hpp"
#include "kernels/replica_state.hpp"

using namespace ukemi;
using namespace ukemi::kernels;
using namespace ukemi::policies;
using Catch::Matchers::Contains;
using Floats = std::vector<float>;

namespace {

Floats copied(std::span<const float> values) { return {values.begin(), values.end()}; }

Floats random_floats(RandomStream& random, std::size_t count) {
    Floats values(count);
    for (float& value : values) value = static_cast<float>(random.normal(0, 1));
    return values;
}

// One of the three updates, drawn.
void random_step(Replica& replica, RandomStream& random) {
    const Floats gradient = random_floats(random, replica.size());
    const Floats other = random_floats(random, replica.size());
    const std::int64_t kind = random.integer(0, 2);
    if (kind == 0) replica.apply_gradient(gradient, 0.1);
    if (kind == 1) replica.apply_averaged(gradient, 0.1, other);
    if (kind == 2) replica.apply_paired(gradient, 0.1, other);
}

std::string refusal(Replica& replica, std::span<const std::byte> state) {
    try {
        replica.restore(state);
    } catch (const InputError& error) {
        return error.what();
    }
    return "accepted";
}

}  // namespace

TEST_CASE("replica: heavy ball with weight decay", "[replica][golden]") {
    Replica replica({1.0F, -2.0F}, {.momentum = 0.5, .weight_decay = 0.25});
    replica.apply_gradient(Floats{1.0F, 0.0F}, 0.5);
    // v = (1 + 0.25, 0 − 0.5), w = (1 − 0.625, −2 + 0.25)
    CHECK(copied(replica.weights()) == Floats{0.375F, -1.75F});
    replica.apply_gradient(Floats{0.0F, 0.0F}, 1.0);
    // v = (0.625 + 0.09375, −0.25 − 0.4375)
    CHECK(copied(replica.weights()) == Floats{0.375F - 0.71875F, -1.75F + 0.6875F});
    CHECK(replica.steps() == 2);
    CHECK(replica.learning_rate() == 1.0);
    CHECK(copied(replica.central()) == copied(replica.weights()));
}

TEST_CASE("replica: Crossbow's golden vector", "[replica][golden]") {
    // z = 1, w = (2, 0.5), g = (1, −1), rate and α 0.1 → w = (1.8, 0.65), z = 1.05.
    const OptimiserSettings settings{.averaging_rate = 0.1};
    Replica first({1.0F}, settings);
    Replica second({1.0F}, settings);
    first.apply_averaged(Floats{-1.0F}, 1.0, Floats{0.0F});  // to 2, with the centre at 1
    second.apply_averaged(Floats{0.5F}, 1.0, Floats{0.0F});  // to 0.5
    REQUIRE(first.weights()[0] == 2.0F);
    REQUIRE(second.weights()[0] == 0.5F);
    REQUIRE(first.central()[0] == 1.0F);
    Floats correction(1);
    Floats sum(1);
    first.correction(correction);
    sum[0] += correction[0];
    CHECK(correction[0] == Approx(0.1));
    second.correction(correction);
    sum[0] += correction[0];
    CHECK(correction[0] == Approx(-0.05));
    first.apply_averaged(Floats{1.0F}, 0.1, sum);
    second.apply_averaged(Floats{-1.0F}, 0.1, sum);
    CHECK(first.weights()[0] == Approx(1.8));
    CHECK(second.weights()[0] == Approx(0.65));
    CHECK(first.central()[0] == Approx(1.05));
    CHECK(second.central()[0] == first.central()[0]);
}

TEST_CASE("replica: the central model has its momentum", "[replica]") {
    Replica replica({1.0F}, {.averaging_momentum = 0.5});
    replica.apply_averaged(Floats{0.0F}, 0.1, Floats{0.25F});
    CHECK(replica.central()[0] == 1.25F);
    replica.apply_averaged(Floats{0.0F}, 0.1, Floats{0.0F});
    CHECK(replica.central()[0] == 1.375F);  // 1.25 + 0.5 · (1.25 − 1)
}

TEST_CASE("replica: with α = 1/k the centre is the replicas' mean, one step late (KungFu)",
          "[replica][property]") {
    constexpr std::size_t count = 4;
    RandomStream random(1, "sma");
    const Floats start = random_floats(random, 8);
    std::vector<Replica> replicas(count, Replica(start, {.averaging_rate = 1.0 / count}));
    for (int step = 0; step < 10; ++step) {
        Floats mean(8, 0.0F);
        Floats sum(8, 0.0F);
        for (const Replica& replica : replicas) {
            Floats correction(8);
            replica.correction(correction);
            for (std::size_t i = 0; i < 8; ++i) {
                mean[i] += replica.weights()[i] / count;
                sum[i] += correction[i];
            }
        }
        for (Replica& replica : replicas) {
            replica.apply_averaged(random_floats(random, 8), 0.3, sum);
        }
        for (std::size_t i = 0; i < 8; ++i) {
            CHECK(replicas[0].central()[i] == Approx(mean[i]).margin(1e-5));
            CHECK(replicas[1].central()[i] == replicas[0].central()[i]);
        }
    }
}

TEST_CASE("replica: a pair averages, then each takes its own step", "[replica][golden]") {
    Replica replica({1.0F}, {.momentum = 0.5, .weight_decay = 0.5});
    replica.apply_paired(Floats{1.0F}, 0.5, Floats{3.0F});
    CHECK(replica.weights()[0] == 1.25F);  // 2 − 0.5 · (1 + 0.5 · 1)
    CHECK(replica.synchronisation() == Synchronisation::pair_averaging);
}

TEST_CASE("replica: a restart forgets the velocity and is one step with the next", "[replica]") {
    Replica replica({1.0F, 2.0F}, {.momentum = 0.9, .averaging_momentum = 0.9});
    replica.apply_averaged(Floats{1.0F, 1.0F}, 0.1, Floats{0.5F, 0.25F});
    const std::uint64_t before = replica.digest();
    SECTION("from the central model, then S-SGD") {
        replica.restart_from(replica.central());  // a part of itself
        CHECK(copied(replica.weights()) == Floats{1.5F, 2.25F});
        CHECK(replica.steps() == 1);
        replica.apply_gradient(Floats{1.0F, 0.0F}, 0.5);
        CHECK(copied(replica.weights()) == Floats{1.0F, 2.25F});
        CHECK(replica.steps() == 2);
    }
    SECTION("then averaging, in place") {
        replica.restart_from(Floats{4.0F, 4.0F});
        replica.restart_from(replica.weights());  // twice is once
        replica.apply_averaged(Floats{1.0F, 0.0F}, 0.5, Floats{1.0F, 0.0F});
        CHECK(copied(replica.weights()) == Floats{3.5F, 4.0F});
        CHECK(copied(replica.central()) == Floats{5.0F, 4.0F});
    }
    SECTION("alone") { replica.restart_from(Floats{4.0F, 4.0F}); }
    REQUIRE(replica.can_undo());
    replica.undo();
    CHECK_FALSE(replica.can_undo());
    CHECK(replica.digest() == before);
}

TEST_CASE("replica: undo and redo give equal bits, whatever the steps", "[replica][property]") {
    const auto seed = static_cast<std::uint64_t>(GENERATE(range(0, 10)));
    CAPTURE(seed);
    RandomStream random(seed, "undo");
    Replica replica(
        random_floats(random, 33),
        {.momentum = 0.9, .weight_decay = 1e-3, .averaging_rate = 0.2, .averaging_momentum = 0.5});
    CHECK_FALSE(replica.can_undo());
    for (int step = 0; step < 40; ++step) {
        const std::uint64_t before = replica.digest();
        const auto state_before = replica.state();
        RandomStream draws = random;
        if (random.chance(0.2)) replica.restart_from(random_floats(random, 33));
        random_step(replica, random);
        replica.note_noise({1.0 + step, 2.0, step});
        const std::uint64_t after = replica.digest();
        CHECK(after != before);
        replica.undo();
        REQUIRE(replica.digest() == before);
        REQUIRE(replica.state() == state_before);
        if (draws.chance(0.2)) replica.restart_from(random_floats(draws, 33));
        random_step(replica, draws);
        replica.note_noise({1.0 + step, 2.0, step});
        REQUIRE(replica.digest() == after);
    }
}

TEST_CASE("replica: a restored state goes on as the saved one would", "[replica][property]") {
    RandomStream random(4, "state");
    const OptimiserSettings settings{.momentum = 0.9, .averaging_momentum = 0.5};
    Replica replica(random_floats(random, 17), settings);
    for (int step = 0; step < 20; ++step) {
        random_step(replica, random);
        replica.note_noise({0.5, 1.5, step});
        Replica other(Floats(17, 0.0F), settings);
        other.restore(replica.state());
        REQUIRE(other.digest() == replica.digest());
        REQUIRE_FALSE(other.can_undo());
        CHECK(other.noise() == replica.noise());
        RandomStream draws = random;
        RandomStream same_draws = random;
        Replica next = replica;
        random_step(next, draws);
        random_step(other, same_draws);
        REQUIRE(other.digest() == next.digest());
    }
}

TEST_CASE("replica: the digest sees every bit of the state", "[replica]") {
    Replica replica({1.0F, 2.0F, 3.0F}, {});
    replica.apply_averaged(Floats{1.0F, 0.0F, 1.0F}, 0.1, Floats{0.0F, 1.0F, 0.0F});
    const auto state = replica.state();
    const std::uint64_t digest = replica.digest();
    for (std::size_t bit = 16 * 8; bit < state.size() * 8; ++bit) {  // after the sizes
        auto changed = state;
        changed[bit / 8] ^= std::byte{1} << (bit % 8);
        Replica other({0.0F, 0.0F, 0.0F}, {});
        try {
            other.restore(changed);
        } catch (const InputError&) {
            continue;  // no such state
        }
        CAPTURE(bit);
        REQUIRE(other.digest() != digest);
    }
}

TEST_CASE("replica: what is no state of this model is refused and changes nothing", "[replica]") {
    Replica replica({1.0F, 2.0F}, {});
    replica.apply_gradient(Floats{1.0F, 1.0F}, 0.1);
    const std::uint64_t digest = replica.digest();
    auto state = replica.state();
    CHECK_THAT(refusal(replica, {}), Contains("expected at least 88 bytes, found 0"));
    CHECK_THAT(refusal(replica, std::span(state).first(90)),
               Contains("expected 104 bytes, found 90"));
    Replica large({1.0F, 2.0F, 3.0F}, {});
    CHECK_THAT(refusal(replica, large.state()),
               Contains("expected a model of 2 parameters, found one of 3"));
    const auto with = [&](std::size_t offset, std::int64_t value) {
        auto changed = state;
        std::memcpy(changed.data() + offset, &value, sizeof value);
        return changed;
    };
    CHECK_THAT(refusal(replica, with(8, 3)), Contains("expected 2 or 4 arrays, found 3"));
    CHECK_THAT(refusal(replica, with(8, 4)), Contains("expected 120 bytes, found 104"));
    CHECK_THAT(refusal(replica, with(16, -1)), Contains("counts that are not negative"));
    CHECK_THAT(refusal(replica, with(24, 6)), Contains("synchronisation from 0 to 5, found 6"));
    CHECK_THAT(refusal(replica, with(56, -1)), Contains("counts that are not negative"));
    CHECK(replica.digest() == digest);
}

TEST_CASE("replica: a saved state is trained on only if all its numbers are finite", "[replica]") {
    RandomStream random(5, "finite");
    Replica replica(random_floats(random, 4), {.momentum = 0.5});
    replica.apply_averaged(random_floats(random, 4), 0.1, random_floats(random, 4));
    const auto complaint = [](std::span<const std::byte> state, std::size_t parameters) {
        try {
            expect_trainable_state(state, parameters, "file");
        } catch (const InputError& error) {
            return std::string(error.what());
        }
        return std::string("accepted");
    };
    const std::vector<std::byte> good = replica.state();
    constexpr std::size_t header = 88;
    REQUIRE(good.size() == header + 16 * sizeof(float));
    CHECK(complaint(good, 4) == "accepted");
    CHECK(complaint(good, 5) == "file: expected a model of 5 parameters, found one of 4");
    const auto with = [&](std::size_t at, auto value) {
        std::vector<std::byte> state = good;
        std::memcpy(state.data() + at, &value, sizeof value);
        return complaint(state, 4);
    };
    constexpr float infinite = std::numeric_limits<float>::infinity();
    constexpr float none = std::numeric_limits<float>::quiet_NaN();
    CHECK(with(header, infinite) == "file: expected finite numbers, found inf as weight 0 of 4");
    CHECK(with(header + 20, none) == "file: expected finite numbers, found nan as velocity 1 of 4");
    CHECK_THAT(with(header + 44, -infinite), Contains("found -inf as central weight 3 of 4"));
    CHECK_THAT(with(header + 60, none), Contains("central weight before it 3 of 4"));
    CHECK_THAT(with(32, std::numeric_limits<double>::quiet_NaN()), Contains("numbers, found nan"));
}
