// corpus_test.cpp — what the fuzzer begins with: a small text of our own for every form.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

#include "base/read_file.hpp"
#include "tests/traces/fixture.hpp"

namespace ukemi {

TEST_CASE("corpus: every form has a file that is recognised as it and can be read", "[readers]") {
    std::map<std::string_view, int> files;
    for (const traces::TraceForm& form : traces::all_trace_forms()) files[form.name] = 0;
    const std::filesystem::path folder =
        std::filesystem::path(UKEMI_SOURCE_DIR) / "tests/traces/corpus";
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        CAPTURE(entry.path().string());
        const std::string text = read_file(entry.path());
        CHECK(text.size() < 2000);
        const auto forms = traces::all_trace_forms();
        const auto form = std::ranges::find_if(forms, [&](const traces::TraceForm& each) {
            return each.recognises(text, entry.path());
        });
        if (form == forms.end()) {
            CHECK(entry.path().filename() == "market.json");  // parameters of a market
            continue;
        }
        traces::ReadOptions options;
        options.gap = whole_seconds(195);
        CHECK(traces::read_trace_text(text, entry.path(), options).report.form == form->name);
        ++files[form->name];
    }
    for (const auto& [form, count] : files) {
        CAPTURE(form);
        CHECK(count > 0);
    }
}

}  // namespace ukemi
