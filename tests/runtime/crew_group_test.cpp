// crew_group_test.cpp — groups that train, grow, shrink and change their Plan, and lose nobody.
#include "tests/runtime/crew_rig.hpp"

namespace ukemi {

TEST_CASE("crew: groups of one to four train with equal digests", "[live]") {
    const int size = GENERATE(1, 2, 4);
    CAPTURE(size);
    CrewRig rig;
    std::vector<InstanceId> members;
    for (int i = 0; i < size; ++i) members.push_back(InstanceId{static_cast<std::uint32_t>(i)});
    rig.spawn(members);
    const runtime::GroupEntered first = rig.enter(members, plan_of(1));
    CHECK(first.step == 0);
    CHECK(first.position == 0);
    CHECK(first.group_changed);
    rig.train_to(30);
    CHECK(rig.steps().size() == 30);
    CHECK(rig.steps().back().report.words.size() == static_cast<std::size_t>(size));
    CHECK(rig.steps().back().report.loss < rig.steps().front().report.loss);
    // Entering again compares the digests of all members.
    const runtime::GroupEntered again = rig.enter(members, plan_of(2));
    CHECK(again.step == 30);
    CHECK_FALSE(again.group_changed);
    CHECK(again.digest != first.digest);
}

}  // namespace ukemi
