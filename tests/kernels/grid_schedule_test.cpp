// grid_schedule_test.cpp — every grid of up to 16 ranks, in every order and along each axis in
// every way, gives each rank each contribution once.
#include "kernels/grid_schedule.hpp"
#include "tests/support/schedule_fault.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <catch2/catch.hpp>
#include <vector>

#include "tests/kernels/sent_by_rank.hpp"

using namespace ukemi;
using namespace ukemi::kernels;

namespace {

// All ways to take so many axes along, of which exchanges[i] is the i-th's.
std::vector<std::vector<GridAxis>> with_exchanges(std::vector<GridAxis> axes) {
    std::vector<std::vector<GridAxis>> all;
    std::size_t ways = 1;
    for (std::size_t i = 0; i < axes.size(); ++i) ways *= axis_exchange_names.size();
    for (std::size_t way = 0; way < ways; ++way) {
        bool possible = true;
        std::size_t left = way;
        for (GridAxis& axis : axes) {
            axis.exchange = static_cast<AxisExchange>(left % axis_exchange_names.size());
            left /= axis_exchange_names.size();
            possible = possible && (axis.exchange != AxisExchange::halving_doubling ||
                                    std::has_single_bit(static_cast<std::uint32_t>(axis.size)));
        }
        if (possible) all.push_back(axes);
    }
    return all;
}

}  // namespace

TEST_CASE("grid schedule: an all-reduce in every order and in every way", "[schedule][property]") {
    const std::vector<std::vector<std::int32_t>> grids = {
        {2, 3}, {4, 2}, {2, 2, 3}, {3, 4}, {2, 2, 2}, {5, 3}, {4, 4}, {8, 2}, {2, 3, 2}};
    for (const std::vector<std::int32_t>& sizes : grids) {
        std::vector<GridAxis> axes;
        for (const std::int32_t size : sizes) axes.push_back({size, ranks_of(axes)});
        const auto by_stride = [](const GridAxis& axis) { return axis.stride; };
        do {
            for (const std::vector<GridAxis>& grid : with_exchanges(axes)) {
                CAPTURE(words_of(grid));
                const Schedule schedule = grid_schedule(grid);
                CHECK(test::schedule_fault(schedule, test::Operation::all_reduce) == "");
                for (const std::int32_t sent : sent_by_rank(schedule)) {
                    CHECK(sent == 2 * (schedule.ranks - 1));
                }
            }
        } while (std::ranges::next_permutation(axes, {}, by_stride).found);
    }
}

TEST_CASE("grid schedule: an axis of one exchange is the schedule of that name", "[schedule]") {
    const std::array halves = {GridAxis{8, 1, AxisExchange::halving_doubling}};
    CHECK(grid_schedule(halves).transfers.size() ==
          all_reduce_schedule(policies::Collective::halving_doubling, 8).transfers.size());
    const std::array ring = {GridAxis{7, 1, AxisExchange::ring}};
    CHECK(grid_schedule(ring).transfers ==
          all_reduce_schedule(policies::Collective::ring, 7).transfers);
    const std::array two = {GridAxis{4, 2, AxisExchange::ring},
                            GridAxis{2, 1, AxisExchange::direct}};
    CHECK(words_of(two) == "4 (ring) x 2 (direct)");
}
