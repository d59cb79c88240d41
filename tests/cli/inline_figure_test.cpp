// inline_figure_test.cpp — of a drawing, what draws is taken into a page, and nothing else.
#include <catch2/catch.hpp>

#include "analysis/report/html_page.hpp"
#include "analysis/report/inline_figure.hpp"
#include "base/input_error.hpp"

namespace ukemi {

namespace {

std::string shown_svg(const std::string& inside) {
    pugi::xml_document page;
    pugi::xml_node body = analysis::begin_page(page, "title", "p { margin: 0; }", "var a;");
    analysis::add_inline_figure(
        body,
        "<?xml version=\"1.0\"?>\n<svg viewBox=\"0 0 9 9\" xmlns=\"http://www.w3.org/2000/svg\" "
        "xmlns:xlink=\"http://www.w3.org/1999/xlink\">" +
            inside + "</svg>",
        "x.svg", "f1-", "what it shows");
    const std::string text = analysis::text_of_page(page);
    const std::size_t begin = text.find("<svg");
    const std::size_t content = text.find('>', begin) + 1;
    CHECK(text.substr(begin, content - begin) ==
          "<svg viewBox=\"0 0 9 9\" role=\"img\" aria-label=\"what it shows\">");
    return text.substr(content, text.find("</svg>") - content);
}

}  // namespace

TEST_CASE("inline figure: ids that are meant get a prefix, others go", "[report]") {
    CHECK(shown_svg("<title>Gnuplot</title><g id='canvas'><defs><circle id='dot' r='1'/></defs>"
                    "<use xlink:href='#dot' color='red'/><rect fill='url(#dot)'/></g>") ==
          "<g><defs><circle id=\"f1-dot\" r=\"1\"></circle></defs>"
          "<use href=\"#f1-dot\" color=\"red\"></use><rect fill=\"url(#f1-dot)\"></rect></g>");
}

TEST_CASE("inline figure: nothing that runs, links or loads", "[report]") {
    CHECK(shown_svg("<script>alert(1)</script><style>@import 'http://x/y'</style>"
                    "<image href='http://x/y.png'/><foreignObject><p/></foreignObject>"
                    "<a href='http://x/'><text>in a link</text></a>")
              .empty());
    CHECK(shown_svg("<g onload='alert(1)' class='c'><use href='http://x/y#a'/>"
                    "<path style='fill: url(http://x/y)' d='M0,0'/></g>") ==
          "<g><use></use><path d=\"M0,0\"></path></g>");
    CHECK(shown_svg("<text>a &lt;b&gt; &amp;<![CDATA[<script>]]></text>") ==
          "<text>a &lt;b&gt; &amp;&lt;script&gt;</text>");
}

TEST_CASE("inline figure: polygons side by side with one pattern are one shape", "[report]") {
    const std::string pattern = "<defs><pattern id='p'><path d='M0,0'/></pattern></defs>";
    CHECK(shown_svg(pattern + "<polygon fill='url(#p)' points='0,0 1,0 1,1'/>\n"
                              "<polygon fill='url(#p)' points='2,0 3,0 3,1'/>"
                              "<polygon fill='red' points='4,0 5,0'/>"
                              "<polygon fill='url(#p)' points='6,0 7,0'/>"
                              "<polygon fill='url(#p)' stroke='red' points='8,0 9,0'/>") ==
          "<defs><pattern id=\"f1-p\"><path d=\"M0,0\"></path></pattern></defs>"
          "<path fill=\"url(#f1-p)\" d=\"M0,0 1,0 1,1ZM2,0 3,0 3,1Z\"></path>"
          "<polygon fill=\"red\" points=\"4,0 5,0\"></polygon>"
          "<path fill=\"url(#f1-p)\" d=\"M6,0 7,0Z\"></path>"
          "<path fill=\"url(#f1-p)\" stroke=\"red\" d=\"M8,0 9,0Z\"></path>");
}

TEST_CASE("inline figure: what is no drawing is refused", "[report]") {
    pugi::xml_document page;
    const auto add = [&](const std::string& svg) {
        analysis::add_inline_figure(page, svg, "x.svg", "f1-", "");
    };
    CHECK_THROWS_AS(add("no drawing"), InputError);
    CHECK_THROWS_AS(add("<html/>"), InputError);
    CHECK_THROWS_AS(add("<svg><g></svg>"), InputError);
}

}  // namespace ukemi
