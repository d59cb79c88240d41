// level_agenda_test.cpp — events of links and flows come in the order of their levels.
#include "sim/network/level_agenda.hpp"

#include <catch2/catch.hpp>
#include <set>
#include <tuple>

#include "base/rng.hpp"

namespace ukemi::sim {

namespace {

// All in a set: no place of an entry is ever known.
class PlainAgenda {
public:
    void put(LevelEvent event, std::uint32_t index, double level) {
        erase(event == LevelEvent::cap_reached, index);
        all_.insert({level, event, index});
    }
    void erase(bool of_flow, std::uint32_t index) {
        std::erase_if(all_, [&](const auto& one) {
            return std::get<2>(one) == index &&
                   (std::get<1>(one) == LevelEvent::cap_reached) == of_flow;
        });
    }
    bool empty() const { return all_.empty(); }
    std::tuple<double, LevelEvent, std::uint32_t> take() {
        return all_.extract(all_.begin()).value();
    }

private:
    std::set<std::tuple<double, LevelEvent, std::uint32_t>> all_;
};

}  // namespace

TEST_CASE("level agenda: few or many, changed and taken away, come in their order", "[network]") {
    const int most = GENERATE(3, 12, 16, 17, 40, 300);
    CAPTURE(most);
    RandomStream random(7, "test/level_agenda");
    LevelAgenda agenda;
    agenda.reserve(static_cast<std::size_t>(most));
    PlainAgenda plain;
    int taken = 0;
    for (int step = 0; step < 20'000; ++step) {
        const auto index = static_cast<std::uint32_t>(random.integer(0, most - 1));
        // Runs of filling and of emptying, so that it is a heap and a few in turn.
        const auto chance = random.integer(0, 9);
        const bool fills = step / (4 * most) % 2 == 0;
        if (chance < (fills ? 6 : 2)) {
            const auto event = static_cast<LevelEvent>(random.integer(0, 2));
            const double level = static_cast<double>(random.integer(-1, 5)) * 0.5;
            const double not_negative = level < 0 ? -0.0 : level;  // as subtractions leave it
            agenda.put(event, index, not_negative);
            plain.put(event, index, not_negative);
        } else if (chance < (fills ? 7 : 4)) {
            chance % 2 == 0 ? agenda.erase_link(index) : agenda.erase_flow(index);
            plain.erase(chance % 2 != 0, index);
        } else if (!agenda.empty()) {
            const LevelAgenda::Entry entry = agenda.take();
            REQUIRE(std::tuple{entry.level, entry.event, entry.index} == plain.take());
            ++taken;
        }
        REQUIRE(agenda.empty() == plain.empty());
    }
    CHECK(taken > 2'000);
}

}  // namespace ukemi::sim
