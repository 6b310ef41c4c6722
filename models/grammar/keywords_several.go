package grammar

// conditional takes if, then and else.
func conditional(not bool) maker {
	return func(s *statement) (all []*shape, err error) {
		for _, row := range []struct {
			key string
			not bool
		}{{"then", false}, {"else", true}} {
			then := s.v.field(row.key)
			if then == nil && not {
				continue // which is satisfied
			}
			list, err := s.sub(s.v.field("if"), row.not)
			if err != nil {
				return nil, err
			}
			if row.not {
				list, _ = plain(list, nil)
			}
			if then != nil {
				x, err := s.sub(then, not)
				if err != nil {
					return nil, err
				}
				list = s.product(list, x)
			}
			all = append(all, list...)
		}
		return all, nil
	}
}

// several takes a keyword that is an array of schemas.
func several(key string, of func(s *statement, list []*value) ([]*shape, error)) maker {
	return func(s *statement) ([]*shape, error) {
		list := s.v.field(key)
		if list.kind != "array" || len(list.list) == 0 {
			return nil, fault(join(s.at, key), short(list), "an array of schemas")
		}
		return of(s, list.list)
	}
}

// all returns the values of all schemas.
func (s *statement) all(list []*value) ([]*shape, error) { return s.together(list, others(), false) }

// none returns the values of none of the schemas.
func (s *statement) none(list []*value) ([]*shape, error) { return s.together(list, others(), true) }

func (s *statement) together(list []*value, all []*shape, not bool) ([]*shape, error) {
	for _, v := range list {
		x, err := s.sub(v, not)
		if err != nil {
			return nil, err
		}
		all = s.product(all, x)
	}
	return all, nil
}

// notAll returns the values that some schema does not take.
func (s *statement) notAll(list []*value) ([]*shape, error) { return s.union(list, true) }

func (s *statement) union(list []*value, not bool) (all []*shape, err error) {
	seen := map[*value]bool{}
	for _, v := range list {
		if v = s.target(v); seen[v] {
			continue
		}
		seen[v] = true
		x, err := s.sub(v, not)
		if err != nil {
			return nil, err
		}
		all = append(all, x...)
		if len(all) > mostShapes {
			return nil, limitError("alternatives of one schema", mostShapes)
		}
	}
	return all, nil
}

// mostSubsets is the most schemas of anyOf that unevaluatedProperties or unevaluatedItems
// look at.
const mostSubsets = 6

// any returns the values of one schema or of several. Where it matters which schemas have looked at
// a key, there are shapes for all subsets.
func (s *statement) any(list []*value) ([]*shape, error) {
	if !s.looksBack {
		return s.union(list, false)
	}
	if len(list) > mostSubsets {
		return nil, limitError("schemas of anyOf beside unevaluatedProperties or unevaluatedItems", mostSubsets)
	}
	var all []*shape
	for subset := 1; subset < 1<<len(list); subset++ {
		var some []*value
		for i, v := range list {
			if subset>>i&1 != 0 {
				some = append(some, v)
			}
		}
		x, err := s.all(some)
		if err != nil {
			return nil, err
		}
		all = append(all, x...)
	}
	return all, nil
}

// one returns the values of one schema and of none of those that may take them too.
func (s *statement) one(list []*value) (all []*shape, err error) {
	for i, v := range list {
		x, err := s.sub(v, false)
		if err != nil {
			return nil, err
		}
		for j, other := range list {
			if i == j || len(x) == 0 {
				continue
			}
			if s.target(v) == s.target(other) {
				x = nil
				continue
			}
			apart, err := s.clearlyEmpty(s.and(s.node(v, false), s.node(other, false)), 0)
			if err != nil {
				return nil, err
			}
			if apart {
				continue
			}
			y, err := s.sub(other, true)
			if err != nil {
				return nil, err
			}
			y, _ = plain(y, nil)
			x = s.product(x, y)
		}
		all = append(all, x...)
	}
	return all, nil
}

// notOne returns the values of none or of at least two schemas.
func (s *statement) notOne(list []*value) ([]*shape, error) {
	all, err := s.none(list)
	if err != nil {
		return nil, err
	}
	for i, a := range list {
		for _, b := range list[:i] {
			x, err := s.all([]*value{a, b})
			if err != nil {
				return nil, err
			}
			all = append(all, x...)
		}
	}
	return plain(all, nil)
}
