// A client of shapes.h, which knows nothing but the header and the facade. Prints what is wrong; "good" at the end.
#include <cstdio>
#include <cstring>
#include <string>
#include <typeinfo>

#include "shapes.h"

extern "C" const char* last_missing();

static int g_wrong = 0;
#define CHECK(what) ((what) ? (void)0 : (void)(std::printf("line %d: %s\n", __LINE__, #what), ++g_wrong))
#define MISSING(text) CHECK(std::string(last_missing()) == text)

struct Pentagon : shapes::Shape {
  Pentagon() : Shape(0) {}
  int sides() const override { return 5; }
};

static void what_is_implemented() {
  shapes::Shape* square = shapes::make(4);
  shapes::Shape* triangle = shapes::make(3);
  CHECK(dynamic_cast<shapes::Square*>(square) && dynamic_cast<shapes::Square*>(square)->area() == 9);
  CHECK(!dynamic_cast<shapes::Square*>(triangle));
  CHECK(typeid(*square) == typeid(shapes::Square) && typeid(*triangle) == typeid(shapes::Shape));
  Pentagon pentagon;  // derived here, called there
  CHECK(shapes::sides_of(pentagon) == 5 && shapes::sides_of(*triangle) == 3);
  shapes::Square here;
  CHECK(std::memcmp(&here, square, sizeof(void*)) == 0);  // one vtable, whoever makes the object
  CHECK(shapes::Shape::made == 4 && shapes::made_so_far() == 4);
  shapes::Shape::made = 40;
  CHECK(shapes::made_so_far() == 40);
  delete shapes::make(3);
  CHECK(shapes::Shape::made == 41);
  CHECK(shapes::Shape::limits[0] == 3 && shapes::Shape::limits[2] == 5);
  delete square;
  delete triangle;
  int caught = 0;
  try {
    shapes::refuse();
  } catch (const shapes::Refusal& refusal) { caught += std::strcmp(refusal.what(), "refused") == 0; }
  try {
    shapes::refuse();
  } catch (const std::exception& refusal) { caught += dynamic_cast<const shapes::Refusal*>(&refusal) != nullptr; }
  try {  // thrown here
    throw shapes::Refusal();
  } catch (const shapes::Refusal&) { ++caught; }
  CHECK(caught == 3);
  CHECK(!*last_missing());
}

static void what_is_missing() {
  shapes::Phantom phantom;
  shapes::Ghost* volatile ghost = new shapes::Ghost;
  CHECK(ghost->appear() == 0xffffffffu);
  MISSING("virtual function 2 of shapes::Ghost");
  CHECK(ghost->shadow() == nullptr);
  MISSING("virtual function 3 of shapes::Ghost");
  CHECK(!dynamic_cast<shapes::Phantom*>(ghost));
  delete ghost;  // leaks: a destructor that nobody has written frees nothing
  ghost = &phantom;
  CHECK(ghost->appear() == 0xffffffffu);
  MISSING("shapes::Ghost::appear()");
  CHECK(dynamic_cast<shapes::Phantom*>(ghost) == &phantom);
  bool caught = false;
  try {
    throw shapes::Phantom();
  } catch (const shapes::Ghost&) { caught = true; }
  CHECK(caught);
  CHECK(shapes::float_up(phantom) == 0xffffffffu);
  MISSING("shapes::float_up(shapes::Ghost const&)");
  CHECK(!shapes::visible());
  MISSING("shapes::visible()");
  CHECK(!*shapes::cry());
  MISSING("shapes::cry()");
  CHECK(shapes::colour() == -1);
  MISSING("shapes::colour()");
  CHECK(shapes::steps().empty());
  MISSING("shapes::steps()");
  CHECK(shapes::grave() == nullptr);
  MISSING("shapes::grave()");
  {
    shapes::Chain chain("iron");
    MISSING("shapes::Chain::Chain(char const*)");
    CHECK(!chain.links[0] && !chain.links[1]);
    CHECK(chain.length() == 7);
    MISSING("shapes::Chain::length() const");
  }
  CHECK(!*last_missing());  // a destructor says nothing
  shapes::haunted[3] = 1;
  CHECK(shapes::haunted[0] == 0 && shapes::weights[1] == 0);
}

extern "C" int run() {
  what_is_implemented();
  what_is_missing();
  if (!g_wrong) std::printf("good\n");
  return g_wrong;
}

#ifdef PROGRAM
int main() { return run(); }
#endif
